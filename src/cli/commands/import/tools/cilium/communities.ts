import type { Fields } from '../reading/fields.ts';
import { to } from '../reading/source-kind.ts';

/** Cilium's names of communities (BGPWellKnownCommunity) that Herald has no name for, by value. */
const values: Readonly<Record<string, string>> = {
  internet: '0:0',
  'planned-shut': 'graceful-shutdown',
  'route-filter-translated-v4': '65535:2',
  'route-filter-v4': '65535:3',
  'route-filter-translated-v6': '65535:4',
  'route-filter-v6': '65535:5',
  'llgr-stale': '65535:6',
  'no-llgr': '65535:7',
};

/** The rows of BGPCommunities below `at`. */
export const communityFields = (at: string) => [
  to(`${at}.standard`, 'BGPAdvertisement `communities`; a single number becomes two'),
  to(`${at}.wellKnown`, 'BGPAdvertisement `communities`, by name or value'),
  to(`${at}.large`, 'BGPAdvertisement `communities`, with `large:` before it'),
];

/** Returns communities in Herald's notation. */
export function communitiesOf(fields: Fields): string[] {
  return [
    ...fields
      .texts('standard')
      .map((text) => (/^[0-9]{1,10}$/.test(text) ? `${Math.floor(Number(text) / 65_536)}:${Number(text) % 65_536}` : text)),
    ...fields.texts('wellKnown').map((name) => values[name] ?? name),
    ...fields.texts('large').map((text) => `large:${text}`),
  ];
}
