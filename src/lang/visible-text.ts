/** Control and format characters (which include those that turn the direction of text), separators of lines, and halves of characters. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Returns the text with characters that a reader does not see, or that change what stands around them, as `\u{202e}`. */
export function visibleText(text: string): string {
  return text.replace(invisible, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
