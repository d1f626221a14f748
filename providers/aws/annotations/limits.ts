/** Limits on what one Service writes. They keep the work for it short, so that other Services do not wait. Listed in docs/reference/limits.md. */
export const limits = {
  /** Characters of one annotation. Thirty tags of full length, the longest list that AWS accepts, need 12,000. */
  annotation: 32_768,
  /** Items of one list. */
  listItems: 1000,
} as const;
