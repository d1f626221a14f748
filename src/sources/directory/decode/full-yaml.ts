import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments, visit, type Document, type ErrorCode } from 'yaml';
import type { FieldPath } from '../../../model/reading/problem.ts';
import { limits } from '../limits.ts';
import type { DecodedDocument, Position } from './decoded-document.ts';

/**
 * Decodes the documents of a YAML text, without empty ones, by the full parser. Never throws. No message contains a value of the text.
 * `linesBefore`: lines of the file before the text.
 */
export function decodeFully(text: string, linesBefore = 0): DecodedDocument[] {
  const lines = new LineCounter();
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: linesBefore + Math.max(1, line), column: Math.max(1, col) };
  };
  const documents = parseDocuments(text, lines);
  if (documents === undefined) {
    return [brokenDocument({ line: linesBefore + 1, column: 1 }, syntaxProblem('RESOURCE_EXHAUSTION'))];
  }
  const decoded = documents.slice(0, limits.documents).flatMap((document): DecodedDocument[] => {
    const errors = document.errors
      .filter(({ code, pos }) => code !== 'NON_STRING_KEY' || !isTextAlias(document, text.slice(pos[0])))
      .map(({ code, pos }) => ({ ...position(pos[0]), message: syntaxProblem(code) }));
    let raw: unknown;
    try {
      raw = document.toJS({ maxAliasCount: limits.aliases });
    } catch {
      // toJS throws for aliases that expand beyond the bound and for undefined aliases.
      if (errors.length === 0)
        errors.push({ ...position(document.range[0]), message: `has undefined aliases, or more than ${limits.aliases}` });
    }
    if (errors.length === 0 && (raw === null || raw === undefined)) return [];
    return [{ raw, again: () => raw, errors, locate: (path) => position(offsetOf(document, path)) }];
  });
  const beyond = documents[limits.documents];
  if (beyond !== undefined) decoded.push(brokenDocument(position(beyond.range[0]), `the file has more than ${limits.documents} documents`));
  return decoded;
}

/** True for a key that begins with an alias (`*app :`) of a text. The parser takes every alias as a key for one that is not text. */
function isTextAlias(document: Document.Parsed, key: string): boolean {
  const name = /^\*([^\s,:[\]{}]+)/.exec(key)?.[1];
  let found = false;
  visit(document, {
    Scalar: (_, { anchor, value }) => {
      found ||= name !== undefined && anchor === name && typeof value === 'string';
    },
  });
  return found;
}

function brokenDocument(at: Position, message: string): DecodedDocument {
  return { raw: undefined, again: () => undefined, errors: [{ ...at, message }], locate: () => at };
}

/** Returns undefined when the nesting exhausts the stack, the only case in which the parser throws. */
function parseDocuments(text: string, lineCounter: LineCounter): readonly Document.Parsed[] | undefined {
  try {
    const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false, stringKeys: true, merge: true, logLevel: 'error' });
    return Array.isArray(documents) ? documents : [];
  } catch {
    return undefined;
  }
}

function offsetOf(document: Document.Parsed, path: FieldPath): number {
  let node: unknown = document.contents;
  let offset = document.contents?.range[0] ?? document.range[0];
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && key.value === step);
      if (pair === undefined) break;
      offset = (isScalar(pair.key) ? pair.key.range?.[0] : undefined) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === 'number') {
      const item = node.items[step];
      if (item === undefined) break;
      offset = (item as { readonly range?: readonly number[] | null }).range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return offset;
}

/** Herald's own words for YAML errors. The parser's messages quote the text, which may contain a password. */
const texts: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: 'an alias (*name) that is not written properly',
  BAD_COLLECTION_TYPE: 'a tag that does not fit its value',
  BAD_DIRECTIVE: 'a directive (%...) that is not known',
  BAD_DQ_ESCAPE: 'a backslash that escapes nothing inside double quotes',
  BAD_INDENT: 'wrong indentation',
  BAD_SCALAR_START: 'a value that begins with a reserved character: put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a value where none can be: a missing line break or quote before it',
  BLOCK_IN_FLOW: 'a block inside {} or []',
  DUPLICATE_KEY: 'a field that is there twice',
  MISSING_CHAR: 'a missing quote, bracket, colon or comma',
  MULTILINE_IMPLICIT_KEY: 'a key over several lines: a colon is missing, or the indentation is wrong',
  NON_STRING_KEY: 'a key that is not text',
  RESOURCE_EXHAUSTION: 'nesting that is too deep',
  TAB_AS_INDENT: 'a tab as indentation: use spaces',
  TAG_RESOLVE_FAILED: 'a tag (!...) that is not known',
  UNEXPECTED_TOKEN: 'something unexpected here: the line before may be incomplete',
};

function syntaxProblem(code: ErrorCode): string {
  return `not valid YAML: ${texts[code] ?? 'it cannot be understood here'}`;
}
