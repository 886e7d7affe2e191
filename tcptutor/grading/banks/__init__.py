"""The course's questions as question banks, in the formats that course systems read.

course.Question -> BankItem    items    title, stem, answers, feedback as HTML; drawn numbers as variants
page, recording -> PageShown   pages    what a question about a run is asked of: text, figures in numbers, a chart
items           -> GIFT        gift     one text; Moodle
items           -> QTI 1.2     qti      a zip of XML and charts; Canvas

In both formats a text is HTML. A chart in it is named by its file (`markup.CHART`), and the format says where it is.
"""
