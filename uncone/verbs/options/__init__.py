"""Options of the verbs: dataclasses whose fields are flags, keywords, help texts, defaults and checks at once."""
