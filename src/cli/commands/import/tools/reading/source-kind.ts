/** One field of a kind of another program: what becomes of it, for the translator and for the reference page. */
export interface SourceField {
  /** Path below the root of the kind: "blocks[].cidr". "[]" stands for every item of a list, "*" for the rest of a name, as in "cidr-*". */
  readonly field: string;
  /** translated: it has an equivalent. lost: it has none. kept: the other program goes on with it, or Herald needs nothing for it. */
  readonly does: 'translated' | 'lost' | 'kept';
  /** translated: the place in Herald's objects, and what differs. Otherwise the consequence, as a sentence after the name of the field. */
  readonly text: string;
  /** What to do. "" when there is nothing to do. */
  readonly fix: string;
}

/** A kind of configuration of another program, with every field that the program knows. */
export interface SourceKind {
  /** The program, as on the reference page. */
  readonly tool: string;
  readonly kind: string;
  /** Before the fields in messages: "spec." or "". */
  readonly root: string;
  readonly fields: readonly SourceField[];
}

/** A field that has an equivalent. */
export const to = (field: string, text: string): SourceField => ({ field, does: 'translated', text, fix: '' });

/** A field that has no equivalent. */
export const lost = (field: string, text: string, fix = ''): SourceField => ({ field, does: 'lost', text, fix });

/** A field that needs no equivalent. */
export const kept = (field: string, text: string, fix = ''): SourceField => ({ field, does: 'kept', text, fix });
