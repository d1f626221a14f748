/** The types of the conditions that Herald writes to a Service. */
export const conditionTypes = {
  addressAssigned: 'herald.dev/AddressAssigned',
  programmed: 'herald.dev/Programmed',
  announced: 'herald.dev/Announced',
  /** Only on Services of which agents saw connections fail. */
  answered: 'herald.dev/Answered',
  /** Only on Services with an external IP that no policy allows. */
  externalIPsAllowed: 'herald.dev/ExternalIPsAllowed',
} as const;
