# ruff: noqa: E501
"""What programs write, by what it shows: after vttest's menus, and what bash, less, vi, top and watch use."""

from __future__ import annotations

E, CSI = "\x1b", "\x1b["
FILL = "".join(f"{CSI}{y + 1};1H{chr(65 + y) * 80}" for y in range(24))
"""Lines of A, of B, ..."""
SHORT = "".join(f"{CSI}{y + 1};1H{y + 1:02} {chr(65 + y) * 9}" for y in range(24))
ENDS = "".join(f"{CSI}{y + 1};80H|" for y in range(24))
"""Something at each line's end: tmux does not tell of the colour of a line without any text."""

SCREENS = {
    "text": "one\r\ntwo\r\n\tthree\bE\rO",
    "cursor moves": f"{CSI}5;10HA{CSI}2AB{CSI}3BC{CSI}4DD{CSI}6CE{CSI}20GF{CSI}9dG{CSI}EH{CSI}2FI{CSI}7`J",
    "cursor stops at edges": f"{CSI}99;99HX{CSI}99DA{CSI}99AB{CSI}99CC{CSI}99BD{CSI}0;0HE{CSI}HF{CSI}24;80f*",
    "a box as vttest draws it": "".join(f"{CSI}{y};{x}H*" for y in (1, 24) for x in range(1, 81))
    + "".join(f"{CSI}{y};{x}H#" for y in range(2, 24) for x in (1, 80))
    + f"{CSI}10;30Hthe frame is whole",
    "aligned": f"{E}#8{CSI}9;10H{CSI}1J{CSI}18;60H{CSI}0J{CSI}9;20H{CSI}1K{CSI}10;70H{CSI}K",
    "wraps": "x" * 79 + "yz" + "w" * 200,
    "does not wrap": f"{CSI}?7l" + "x" * 79 + "yz" + "w" * 20 + f"{CSI}?7h" + "abc",
    "waits at the edge": f"{CSI}1;80Ha\rb{CSI}2;80Hc\rd{CSI}3;80He\x0df{CSI}5;80Hg{CSI}Ah",
    "scrolls": "".join(f"line {n}\r\n" for n in range(60)),
    "index and reverse index": f"{SHORT}{CSI}24;5H{E}D{E}D{CSI}1;5H{E}M{E}Mtop{E}Enext",
    "region": f"{SHORT}{CSI}5;10r{CSI}10;1H\n\n\nend{CSI}5;1H{E}M{E}Mtop{CSI}20;1Hoff{CSI}24;1H\n\n",
    "region up and down": f"{SHORT}{CSI}3;12r{CSI}2S{CSI}20;1H{CSI}T{CSI}r{CSI}3S",
    "region with origin": f"{SHORT}{CSI}5;10r{CSI}?6h{CSI}1;1Hfirst{CSI}6;1Hlast{CSI}20;3Hbound{CSI}?6l{CSI}1;1Hhome",
    "region, cursor stays in": f"{SHORT}{CSI}5;10r{CSI}7;3H{CSI}20Aup{CSI}7;3H{CSI}20Bdown{CSI}2;1H{CSI}9Aa{CSI}20;1H{CSI}9Bb",
    "inserts and deletes lines": f"{SHORT}{CSI}5;4H{CSI}2L{CSI}12;1H{CSI}3M{CSI}4;9r{CSI}6;1H{CSI}L{CSI}8;1H{CSI}MX",
    "inserts and deletes characters": f"{FILL}{CSI}5;10H{CSI}4@{CSI}6;10H{CSI}4P{CSI}7;10H{CSI}4X{CSI}8;78H{CSI}9P{CSI}10;5H{CSI}4hnew{CSI}4l",
    "erases": f"{FILL}{CSI}5;10H{CSI}K{CSI}6;10H{CSI}1K{CSI}7;10H{CSI}2K{CSI}20;40H{CSI}J{CSI}3;5H{CSI}1J",
    "erases in colour": f"{FILL}{CSI}44;4m{CSI}5;10H{CSI}K{CSI}6;10H{CSI}1K{CSI}7;10H{CSI}6X{CSI}20;1H{CSI}J{CSI}9;5H{CSI}2P{CSI}10;5H{CSI}2@{ENDS}",
    "a new line in colour": f"{SHORT}{CSI}42m{CSI}24;1H\n\n{CSI}H{E}M{CSI}10;1H{CSI}L{CSI}12;1H{CSI}M{ENDS}",
    "tab stops": f"{CSI}3g{CSI}1;5H{E}H{CSI}1;20H{E}H{CSI}1;40H{E}H\r\ta\tb\tc\td{CSI}2;60H{CSI}2Ze{CSI}1;20H{CSI}g\r\n\n\n\tg\th",
    "tabs": "a\tb\tc" + "\t" * 20 + "d",
    "saves the cursor": f"{CSI}5;5H{CSI}1;31m{E}7{CSI}0m{CSI}10;10Hthere{E}8here{E}8again{CSI}s{CSI}20;1Hx{CSI}uy",
    "looks": f"{CSI}1mbold{CSI}0m {CSI}3mitalic{CSI}23m {CSI}4munder{CSI}24m {CSI}7mreverse{CSI}27m {CSI}9mstruck{CSI}29m {CSI}1;4;7mall{CSI}22;24mtwo off{CSI}mnone",
    "colours": "".join(f"{CSI}{n}m{n} " for n in (*range(30, 38), 39, *range(90, 98))) + f"{CSI}m\r\n" + "".join(f"{CSI}{n}m{n} " for n in (*range(40, 48), 49, *range(100, 108))),
    "256 colours": "".join(f"{CSI}38;5;{n}m{n} " for n in range(16, 256, 7)) + f"{CSI}m\r\n" + "".join(f"{CSI}48;5;{n}m {CSI}0m." for n in range(16, 256, 5)),
    "colours in ls": f"{CSI}0m{CSI}01;34mbin{CSI}0m  {CSI}01;32mrun.sh{CSI}0m  {CSI}30;42mtmp{CSI}0m\r\n",
    "line drawing": f"{E}(0lqqqk\r\nx   x\r\nmqqqj{E}(B\r\nlqk{E})0\x0elqk\x0flqk",
    "alternate": f"{SHORT}{CSI}7;7H{CSI}?1049h{CSI}2J{CSI}Hother{CSI}3;3H{CSI}44mx",
    "alternate and back": f"{SHORT}{CSI}7;7H{CSI}31m{CSI}?1049h{CSI}2J{CSI}Hother{CSI}?1049lback",
    "alternate 47": f"{SHORT}{CSI}?47h{CSI}2J{CSI}5;5Hother{CSI}?47l{CSI}9;1Hback",
    "alternate, twice in": f"{SHORT}{CSI}4;4H{CSI}?1049h{CSI}?1049hx{CSI}?1049ly",
    "wide": "\u4f60\u597d, \u4e16\u754c! \ud55c\uad6d \u65e5\u672c",
    "wide at the edge": "x" * 79 + "\u4f60" + "y" * 79 + "\u597dz",
    "half of a wide one is overwritten": f".\u4f60\u597d\u4e16\u754c{CSI}1;3Ha{CSI}1;6Hb\r\n\u4f60\u597d\u4e16\u754c{CSI}2;3Hc",
    "wide over wide": f".\u4f60\u597d\u4e16\u754c{CSI}1;3H\u65e5{CSI}2;1Habcdef{CSI}2;2H\u65e5",
    "wide erased": f"\u4f60\u597d\u4e16\u754c{CSI}1;3H{CSI}2X\r\n\u4f60\u597d\u4e16\u754c{CSI}2;5H{CSI}K",
    "combining": "e\u0301a\u0308 n\u0303o",
    "repeats": f"ab{CSI}5b.{CSI}1;70H-{CSI}3b",
    "swallows": f"a{E}]0;title\x07b{E}]52;c;aGVsbG8={E}\\c{E}P+q544e{E}\\d{E}_apc{E}\\e{CSI}>4;2mf{CSI}?4mg{CSI}>1uh{CSI}<ui{CSI}2 qj{CSI}!pk{CSI}=5ul{E}^pm{E}\\m{CSI}?2026$pn",
    "controls inside a sequence": f"abc{CSI}2\bCX{CSI}\r2CY{CSI}1{CSI}3CZ",
    "a sequence that is broken off": f"ab{CSI}3\x18c{CSI}\x1ad{E}\x18e",
    "reset": f"{SHORT}{CSI}5;10r{CSI}31m{E}cnew",
    "bad bytes": "a\ufffdb",
}  # fmt: skip
