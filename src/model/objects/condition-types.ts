/** The types of the conditions that Herald writes to a Service. */
export const conditionTypes = {
  addressAssigned: 'herald.dev/AddressAssigned',
  programmed: 'herald.dev/Programmed',
  announced: 'herald.dev/Announced',
} as const;
