/** "1 Service" or "2 Services"; "1 address" or "2 addresses". */
export function countText(count: number, noun: string): string {
  const ending = count === 1 ? '' : noun.endsWith('s') ? 'es' : 's';
  return `${count} ${noun}${ending}`;
}
