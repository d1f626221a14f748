import type { LiveNodes } from '../sessions/live-view.ts';
import { answersClients, withOwner, type L2AddressExplanation, type L2LiveAnswer } from './l2-address.ts';

/**
 * Adds what queried agents know. A node that answers is the owner, whatever was decided or reported. `now` is in milliseconds since the
 * epoch.
 */
export function withLiveL2(explanation: L2AddressExplanation, live: LiveNodes, now: number): L2AddressExplanation {
  const answers = [...live].flatMap(([node, { addresses = [], links = [] }]) =>
    addresses
      .filter(({ address }) => address === explanation.address)
      .map((one): L2LiveAnswer => {
        const link = links.find(({ interface: name }) => name === one.interface);
        return { ...one, node, ...(link === undefined ? {} : { link }) };
      }),
  );
  if (answers.length === 0) return explanation;
  // oxlint-disable-next-line no-restricted-globals -- writing a date as text is pure
  const askedAt = new Date(now).toISOString();
  const told = { ...explanation, askedAt, live: answers.toSorted((a, b) => Number(answersClients(b)) - Number(answersClients(a))) };
  const owners = answers.filter(answersClients);
  const isSilent = answers.some(({ node }) => node === explanation.owner) && owners.length === 0;
  const { owner, next: _, ...others } = told;
  return withOwner(others, isSilent ? undefined : ((owners.find(({ node }) => node === owner) ?? owners[0])?.node ?? owner));
}
