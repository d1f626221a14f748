/** A description without the links of Markdown, which CRDs and editors cannot follow. */
export function plainText(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/** What a rule says where it is broken: the message, and the fix where there is one. */
export function refusal({ message, fix }: { readonly message: string; readonly fix: string }): string {
  return fix === '' ? message : `${message}; ${fix}`;
}
