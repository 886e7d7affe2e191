"""The configuration file: settings and keys, with a line for each problem. Knows no Textual.

`configuration.load_configuration` reads the machine's file and the user's. `keymap.resolve` checks each key against
assets/ui/actions.json, the table of all actions and screens, since importing all screens takes a second. `ui.frame`
gives the result to Textual's keymap: footers, the list of keys and the palette ask Textual, sentences ask
`base.key_names`.
"""
