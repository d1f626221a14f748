import type { FieldPath } from '../../../model/reading/problem.ts';
import { limits } from '../limits.ts';
import type { DecodedDocument, Position } from './decoded-document.ts';
import { decodeFully } from './full-yaml.ts';
import { decodePlainDocument } from './plain-document.ts';

/** Decodes the documents of a YAML or JSON file, without empty ones. Never throws. No message contains a value of the file. */
export function decodeDocuments(text: string, isJson: boolean): DecodedDocument[] {
  return (isJson ? decodeJson(text) : decodeParts(text)) ?? decodeFully(text);
}

/** Returns undefined for what is not JSON. Every JSON text is YAML, and the full parser knows where it broke. */
function decodeJson(text: string): DecodedDocument[] | undefined {
  try {
    const raw: unknown = JSON.parse(text);
    // JSON.parse is much faster but has no positions.
    return [{ raw, again: () => raw, errors: [], locate: locatingIn({ text, linesBefore: 0 }) }];
  } catch {
    return undefined;
  }
}

/**
 * Decodes each document by itself, the plain ones quickly. Returns undefined when one is broken: a mistake may reach beyond its document, so
 * the full parser has to see all of them.
 */
function decodeParts(text: string): DecodedDocument[] | undefined {
  const parts = partsOf(text);
  if (parts === undefined) return undefined;
  const decoded: DecodedDocument[] = [];
  for (const part of parts) {
    const documents = decodePart(part);
    if (documents.some(({ errors }) => errors.length > 0)) return undefined;
    decoded.push(...documents);
  }
  return decoded;
}

interface Part {
  readonly text: string;
  /** Lines of the file before this part. */
  readonly linesBefore: number;
}

/** Cuts a text before each document marker. Returns undefined where a document does not end there, or depends on one before it. */
function partsOf(text: string): readonly Part[] | undefined {
  // Directives, ends of documents, and characters that are line breaks to only one of the regular expression and YAML.
  if (/^(?:%|\.\.\.)|[\r\u2028\u2029\uFEFF]/m.test(text)) return undefined;
  const parts: Part[] = [];
  let linesBefore = 0;
  for (const part of text.split(/^(?=---(?:\s|$))/m)) {
    parts.push({ text: part, linesBefore });
    for (let at = part.indexOf('\n'); at !== -1; at = part.indexOf('\n', at + 1)) linesBefore++;
  }
  return parts.length > limits.documents ? undefined : parts;
}

function decodePart(part: Part): DecodedDocument[] {
  const plain = decodePlainDocument(part.text);
  if (plain === undefined) return decodeFully(part.text, part.linesBefore);
  const { raw, at, items } = plain;
  const locateFully = locatingIn(part);
  const locate = (path: FieldPath): Position => {
    const [field, index] = path;
    const found = path.length === 0 ? at : path.length === 2 && field === 'items' ? items[Number(index)] : undefined;
    return found === undefined ? locateFully(path) : { line: part.linesBefore + found.line, column: found.column };
  };
  return [{ raw, again: decodingAgain(part.text), errors: [], locate }];
}

/** A function of its own, so that it holds the text and nothing else of the document. */
function decodingAgain(text: string): () => unknown {
  return () => decodePlainDocument(text)?.raw;
}

/** The full parser reads the text once, when the first position is needed. */
function locatingIn({ text, linesBefore }: Part): (path: FieldPath) => Position {
  let decoded: DecodedDocument | undefined;
  return (path) => (decoded ??= decodeFully(text, linesBefore)[0])?.locate(path) ?? { line: linesBefore + 1, column: 1 };
}
