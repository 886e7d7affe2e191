"""QTI 1.2, as Canvas writes and reads it: a zip with a manifest, an assessment per module, and the charts.

https://www.imsglobal.org/question/qtiv1p2/imsqti_asi_bindv1p2.html; the standard leaves the structure of question
kinds open, so they follow Canvas' own exports (canvas-lms, lib/cc/qti). Canvas shuffles choices per quiz and ignores
`shuffle` of a question: it shows them in the bank's order. Equal banks give equal bytes: no dates, and identifiers
from hashes.
"""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO

from tcptutor.grading.banks.items import (
    Bank,
    BankChoices,
    BankGroup,
    BankItem,
    BankModule,
    BankNumber,
    BankOrder,
    format_decimal,
)
from tcptutor.grading.banks.pages import with_charts

_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
_CP = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_CHARTS = "charts"
_FILES = "%24IMS-CC-FILEBASE%24"
"""Canvas' variable for the files of a package, URL-escaped."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""Earliest date that a zip can contain."""
_RESPONSE = "response1"


def write_qti(bank: Bank, to: IO[bytes]) -> None:
    """Write the package. Raises OSError.

    Canvas makes a quiz of each module. A quiz asks each question once, with a single draw of its numbers.
    """
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as package:

        def add(name: str, content: bytes) -> None:
            info = zipfile.ZipInfo(name, _FIRST_DATE)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            package.writestr(info, content)

        add("imsmanifest.xml", _xml(_manifest(bank)))
        for module in bank.modules:
            add(_file(module), _xml(_assessment(module)))
        for name, content in bank.charts.items():
            add(f"{_CHARTS}/{name}", content)


def _ident(name: str) -> str:
    return f"i{_hash(name)[:31]}"


def _first_answer_name(name: str) -> int:
    """Return the first answer name of an item: Canvas takes integers, and keeps 32 bits."""
    return 100 * int(_hash(name)[:5], 16)


def _hash(name: str) -> str:
    return hashlib.sha256(f"tcptutor/{name}".encode()).hexdigest()


def _file(module: BankModule) -> str:
    return f"{_ident(module.id)}/{_ident(module.id)}.xml"


def _xml(root: ET.Element) -> bytes:
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _manifest(bank: Bank) -> ET.Element:
    root = ET.Element(
        "manifest",
        {
            "identifier": _ident(" ".join(module.id for module in bank.modules)),
            "xmlns": _CP,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{_CP} http://www.imsglobal.org/xsd/imscp_v1p1.xsd",
        },
    )
    metadata = ET.SubElement(root, "metadata")
    ET.SubElement(metadata, "schema").text = "IMS Content"
    ET.SubElement(metadata, "schemaversion").text = "1.1.3"
    ET.SubElement(root, "organizations")
    resources = ET.SubElement(root, "resources")
    for module in bank.modules:
        _resource(resources, _ident(module.id), "imsqti_xmlv1p2", _file(module))
    for name in bank.charts:
        _resource(resources, _ident(f"{_CHARTS}/{name}"), "webcontent", f"{_CHARTS}/{name}")
    return root


def _resource(resources: ET.Element, ident: str, kind: str, file: str) -> None:
    resource = ET.SubElement(resources, "resource", identifier=ident, type=kind, href=file)
    ET.SubElement(resource, "file", href=file)


def _assessment(module: BankModule) -> ET.Element:
    root = ET.Element(
        "questestinterop",
        {
            "xmlns": _QTI,
            "xmlns:xsi": _XSI,
            "xsi:schemaLocation": f"{_QTI} http://www.imsglobal.org/xsd/ims_qtiasiv1p2p1.xsd",
        },
    )
    assessment = ET.SubElement(root, "assessment", ident=_ident(module.id), title=module.title)
    _metadata(assessment, {"cc_maxattempts": "unlimited"})
    section = ET.SubElement(assessment, "section", ident="root_section")
    for group in module.groups:
        _group(section, group)
    return root


def _group(root: ET.Element, group: BankGroup) -> None:
    if len(group.items) == 1:
        _item(root, group.items[0])
        return
    section = ET.SubElement(root, "section", ident=_ident(group.id), title=group.title)
    selection = ET.SubElement(ET.SubElement(section, "selection_ordering"), "selection")
    ET.SubElement(selection, "selection_number").text = "1"
    for item in group.items:
        _item(section, item)


def _metadata(parent: ET.Element, fields: dict[str, str]) -> None:
    metadata = ET.SubElement(parent, "qtimetadata")
    for label, entry in fields.items():
        field = ET.SubElement(metadata, "qtimetadatafield")
        ET.SubElement(field, "fieldlabel").text = label
        ET.SubElement(field, "fieldentry").text = entry


def _html(parent: ET.Element, text: str) -> None:
    ET.SubElement(ET.SubElement(parent, "material"), "mattext", texttype="text/html").text = text


def _item(section: ET.Element, item: BankItem) -> None:
    match item.answers:
        case BankChoices() as choices:
            kind: _Kind = _ChoiceKind(item, choices)
        case BankNumber() as number:
            kind = _NumberKind(item, number)
        case BankOrder() as order:
            kind = _OrderKind(item, order)
    node = ET.SubElement(section, "item", ident=_ident(item.id), title=item.title)
    _metadata(
        ET.SubElement(node, "itemmetadata"),
        {
            "question_type": kind.name,
            "points_possible": "1",
            "original_answer_ids": ",".join(map(str, kind.answers)),
        },
    )
    presentation = ET.SubElement(node, "presentation")
    _html(presentation, f"<div>{with_charts(item.stem, lambda name: f'{_FILES}/{_CHARTS}/{name}')}</div>")
    kind.present(presentation)
    processing = ET.SubElement(node, "resprocessing")
    outcomes = ET.SubElement(processing, "outcomes")
    ET.SubElement(outcomes, "decvar", maxvalue="100", minvalue="0", varname="SCORE", vartype="Decimal")
    other = _condition(processing, "Yes", feedback="general_fb")
    ET.SubElement(other, "other")
    kind.process(processing)
    for ident, text in [("general_fb", item.explanation), *kind.feedback()]:
        feedback = ET.SubElement(node, "itemfeedback", ident=ident)
        _html(ET.SubElement(feedback, "flow_mat"), text)


def _condition(
    processing: ET.Element, continues: str, score: str = "", action: str = "Set", feedback: str = ""
) -> ET.Element:
    """Add a condition and return its empty `conditionvar`, for the caller to fill."""
    condition = ET.SubElement(processing, "respcondition", {"continue": continues})
    variables = ET.SubElement(condition, "conditionvar")
    if score:
        ET.SubElement(condition, "setvar", action=action, varname="SCORE").text = score
    if feedback:
        ET.SubElement(condition, "displayfeedback", feedbacktype="Response", linkrefid=feedback)
    return variables


def _add_test(parent: ET.Element, what: str, value: object, response: str = _RESPONSE) -> None:
    ET.SubElement(parent, what, respident=response).text = str(value)


class _Kind:
    """XML of a kind of question."""

    name: str
    """Canvas' name."""

    def __init__(self, item: BankItem, answers: int) -> None:
        first = _first_answer_name(item.id)
        self.answers: Sequence[int] = range(first, first + answers)
        """Names of the answers in this item."""

    def present(self, presentation: ET.Element) -> None:
        """Add the form of the answer."""
        raise NotImplementedError

    def process(self, processing: ET.Element) -> None:
        """Add the conditions for scores and feedback."""
        raise NotImplementedError

    def feedback(self) -> Iterator[tuple[str, str]]:
        """Yield the name and HTML of each feedback."""
        raise NotImplementedError


class _ChoiceKind(_Kind):
    def __init__(self, item: BankItem, found: BankChoices) -> None:
        super().__init__(item, len(found.choices))
        self.name = "multiple_answers_question" if found.is_multiple else "multiple_choice_question"
        self._several = found.is_multiple
        self._choices = list(zip(self.answers, found.choices, strict=True))

    def present(self, presentation: ET.Element) -> None:
        many = "Multiple" if self._several else "Single"
        response = ET.SubElement(presentation, "response_lid", ident=_RESPONSE, rcardinality=many)
        rendered = ET.SubElement(response, "render_choice", shuffle="Yes")
        for answer, choice in self._choices:
            label = ET.SubElement(rendered, "response_label", ident=str(answer))
            if choice.fixed:
                label.set("rshuffle", "No")
            _html(label, choice.text)

    def process(self, processing: ET.Element) -> None:
        for answer, _ in self._choices:
            _add_test(_condition(processing, "Yes", feedback=f"{answer}_fb"), "varequal", answer)
        right = _condition(processing, "No", "100")
        if not self._several:
            _add_test(right, "varequal", next(answer for answer, choice in self._choices if choice.right))
            return
        together = ET.SubElement(right, "and")
        for answer, choice in self._choices:
            _add_test(together if choice.right else ET.SubElement(together, "not"), "varequal", answer)

    def feedback(self) -> Iterator[tuple[str, str]]:
        return ((f"{answer}_fb", f"<p>{choice.feedback}</p>") for answer, choice in self._choices)


class _NumberKind(_Kind):
    """A number. Canvas counts every range as correct, so feedback on mistakes joins the general feedback."""

    name = "numerical_question"

    def __init__(self, item: BankItem, found: BankNumber) -> None:
        super().__init__(item, 1)
        self._found = found

    def present(self, presentation: ET.Element) -> None:
        response = ET.SubElement(presentation, "response_str", ident=_RESPONSE, rcardinality="Single")
        rendered = ET.SubElement(response, "render_fib", fibtype="Decimal")
        ET.SubElement(rendered, "response_label", ident="answer1")

    def process(self, processing: ET.Element) -> None:
        found = self._found
        either = ET.SubElement(_condition(processing, "No", "100", feedback="correct_fb"), "or")
        _add_test(either, "varequal", format_decimal(found.value))
        within = ET.SubElement(either, "and")
        _add_test(within, "vargte", format_decimal(found.value - found.tolerance))
        _add_test(within, "varlte", format_decimal(found.value + found.tolerance))
        ET.SubElement(_condition(processing, "Yes", feedback="general_incorrect_fb"), "other")

    def feedback(self) -> Iterator[tuple[str, str]]:
        mistakes = "".join(f"<li>{each.text}: {each.feedback}</li>" for each in self._found.mistakes)
        yield "correct_fb", f"<p>{self._found.right}</p>"
        yield (
            "general_incorrect_fb",
            f"<p>{self._found.wrong}</p>" + (f"<ul>{mistakes}</ul>" if mistakes else ""),
        )


class _OrderKind(_Kind):
    """Events in order: each event is matched with its place."""

    name = "matching_question"

    def __init__(self, item: BankItem, found: BankOrder) -> None:
        super().__init__(item, len(found.events))
        self._events = list(zip(self.answers, found.events, strict=True))
        self._places = {place: self.answers[0] + 50 + place for place in range(1, len(found.events) + 1)}
        """Answer name of each place."""

    def present(self, presentation: ET.Element) -> None:
        for answer, event in self._events:
            response = ET.SubElement(presentation, "response_lid", ident=f"response_{answer}")
            _html(response, event.text)
            rendered = ET.SubElement(response, "render_choice")
            for place, ident in self._places.items():
                label = ET.SubElement(rendered, "response_label", ident=str(ident))
                ET.SubElement(ET.SubElement(label, "material"), "mattext").text = str(place)

    def process(self, processing: ET.Element) -> None:
        share = f"{100 / len(self._events):.2f}"
        for answer, event in self._events:
            response, right = f"response_{answer}", self._places[event.place]
            _add_test(_condition(processing, "Yes", share, "Add"), "varequal", right, response)
            otherwise = ET.SubElement(_condition(processing, "Yes", feedback=f"{answer}_fb"), "not")
            _add_test(otherwise, "varequal", right, response)

    def feedback(self) -> Iterator[tuple[str, str]]:
        return ((f"{answer}_fb", f"<p>{event.feedback}</p>") for answer, event in self._events)
