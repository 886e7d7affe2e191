"""The course's questions as question banks, in the formats that course systems read.

course.Question -> BankItem      items    title, stem, answers, feedback as HTML; drawn numbers as variants
page, recording -> PageContext   pages    context of a question about a run: text, figures in numbers, a chart
items           -> GIFT          gift     one text; Moodle
items           -> QTI 1.2       qti      a zip of XML and charts; Canvas

Both formats contain texts as HTML. A chart is referenced by its file name (`markup.CHART`), which the format resolves.
"""
