import type { ErrorCode } from 'yaml';

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

export function syntaxProblem(code: ErrorCode): string {
  return `not valid YAML: ${texts[code] ?? 'it cannot be understood here'}`;
}
