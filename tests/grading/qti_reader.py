"""QTI 1.2 items, checked against the standard's content models and processed as it says.

The models are those of ims_qtiasiv1p2p1.dtd, as far as a bank uses them: the elements that may stand in each, in order.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import NamedTuple

NAMESPACE = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
_TEST = "not|and|or|other|varequal|vargte|varlte"
MODELS = {
    "questestinterop": "assessment",
    "assessment": "qtimetadata* section+",
    "section": "selection_ordering? (item|section)*",
    "selection_ordering": "selection*",
    "selection": "selection_number?",
    "qtimetadata": "qtimetadatafield+",
    "qtimetadatafield": "fieldlabel fieldentry",
    "item": "itemmetadata? presentation? resprocessing* itemfeedback*",
    "itemmetadata": "qtimetadata*",
    "presentation": "(material|response_lid|response_str)+",
    "material": "mattext+",
    "response_lid": "material? render_choice",
    "response_str": "material? render_fib",
    "render_choice": "response_label*",
    "render_fib": "response_label*",
    "response_label": "material*",
    "resprocessing": "outcomes respcondition+",
    "outcomes": "decvar+",
    "respcondition": "conditionvar setvar* displayfeedback*",
    "conditionvar": f"({_TEST})+",
    "and": f"({_TEST})+",
    "or": f"({_TEST})+",
    "not": f"({_TEST})",
    "itemfeedback": "(flow_mat|material)+",
    "flow_mat": "material+",
}
ATTRIBUTES = {
    "assessment": {"ident", "title"},
    "section": {"ident", "title?"},
    "item": {"ident", "title"},
    "mattext": {"texttype?"},
    "response_lid": {"ident", "rcardinality?"},
    "response_str": {"ident", "rcardinality?"},
    "render_fib": {"fibtype"},
    "render_choice": {"shuffle?"},
    "response_label": {"ident", "rshuffle?"},
    "decvar": {"maxvalue", "minvalue", "varname", "vartype"},
    "respcondition": {"continue"},
    "setvar": {"action", "varname"},
    "displayfeedback": {"feedbacktype", "linkrefid"},
    "varequal": {"respident"},
    "vargte": {"respident"},
    "varlte": {"respident"},
    "itemfeedback": {"ident"},
}
VALUES = {
    "shuffle": {"Yes", "No"},
    "rshuffle": {"Yes", "No"},
    "rcardinality": {"Single", "Multiple", "Ordered"},
    "fibtype": {"String", "Integer", "Decimal", "Scientific"},
    "vartype": {"Integer", "String", "Decimal", "Scientific", "Boolean", "Enumerated", "Set"},
    "continue": {"Yes", "No"},
    "action": {"Set", "Add", "Subtract", "Multiply", "Divide"},
    "feedbacktype": {"Response", "Solution", "Hint"},
}
TEXTS = {
    "fieldlabel", "fieldentry", "mattext", "selection_number", "decvar", "setvar", "displayfeedback", "other",
    "varequal", "vargte", "varlte",
}  # fmt: skip
"""Elements that hold text and no elements."""


def read(content: bytes) -> ET.Element:
    """The document without its namespace. Raises AssertionError where it is not as the standard has it."""
    root = ET.fromstring(content)
    for node in root.iter():
        assert node.tag.startswith(NAMESPACE)
        node.tag = node.tag.removeprefix(NAMESPACE)
    for node in root.iter():
        _check(node)
    return root


def _check(node: ET.Element) -> None:
    children = "".join(f"<{child.tag}>" for child in node)
    model = re.sub(r"\w+", r"(?:<\g<0>>)", MODELS.get(node.tag, "")).replace(" ", "")
    assert re.fullmatch(model, children), (node.tag, children)
    assert node.tag in MODELS or node.tag in TEXTS, node.tag
    assert node.tag in TEXTS or not (node.text or "").strip()
    assert not (node.tail or "").strip()
    if node.tag == "questestinterop":
        return
    allowed = ATTRIBUTES.get(node.tag, set())
    assert node.attrib.keys() <= {each.rstrip("?") for each in allowed}, (node.tag, node.attrib)
    assert node.attrib.keys() >= {each for each in allowed if not each.endswith("?")}, (node.tag, node.attrib)
    assert all(value in VALUES.get(name, {value}) for name, value in node.attrib.items())


class Outcome(NamedTuple):
    score: float
    told: tuple[str, ...]
    """The HTML of the feedback that is shown."""


def answered(item: ET.Element, given: Mapping[str, set[str]]) -> Outcome:
    """What the item makes of a response, by the names of what is responded to."""
    texts = {each.get("ident"): each.findtext(".//mattext") or "" for each in item.iter("itemfeedback")}
    score, told = 0.0, []
    for condition in item.iter("respcondition"):
        variables = condition.find("conditionvar")
        assert variables is not None
        if not all(_holds(each, given) for each in variables):
            continue
        for change in condition.iter("setvar"):
            value = float(change.text or "")
            score = score + value if change.get("action") == "Add" else value
        told += [texts[each.get("linkrefid")] for each in condition.iter("displayfeedback")]
        if condition.get("continue") == "No":
            break
    return Outcome(score, tuple(told))


def _holds(test: ET.Element, given: Mapping[str, set[str]]) -> bool:
    values = given.get(test.get("respident", ""), set())
    match test.tag:
        case "and":
            return all(_holds(each, given) for each in test)
        case "or":
            return any(_holds(each, given) for each in test)
        case "not":
            return not _holds(test[0], given)
        case "other":
            return True
        case "varequal":
            return test.text in values
        case "vargte":
            return any(float(value) >= float(test.text or "") for value in values)
        case _:
            return any(float(value) <= float(test.text or "") for value in values)


def metadata(item: ET.Element) -> dict[str, str]:
    return {
        field.findtext("fieldlabel", ""): field.findtext("fieldentry", "")
        for field in item.iter("qtimetadatafield")
    }
