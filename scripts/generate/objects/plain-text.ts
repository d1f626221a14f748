/** Returns a description without Markdown links, which CRDs and editors do not show. */
export function plainText(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/** Returns the message of a broken rule, with the fix when there is one. */
export function refusal({ message, fix }: { readonly message: string; readonly fix: string }): string {
  return fix === '' ? message : `${message}; ${fix}`;
}
