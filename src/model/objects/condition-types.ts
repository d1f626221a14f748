/** The conditions that Herald writes on a Service. */
export const conditionTypes = {
  addressAssigned: 'herald.dev/AddressAssigned',
  programmed: 'herald.dev/Programmed',
  announced: 'herald.dev/Announced',
} as const;
