import { defined } from '../../lang/defined.ts';
import { bfdStates, sessionStates, type SessionFamily, type SessionNeighbor, type SessionStatus } from '../objects/node-state.ts';
import { integer, object, openObject, text } from '../schema/fields.ts';
import type { Value } from '../schema/value.ts';

export const longText = 32_768;
export const count = { min: 0, max: Number.MAX_SAFE_INTEGER } as const;
export const asn = { min: 0, max: 2 ** 32 - 1 } as const;

export const bfd = object(
  {
    state: text({ maxLength: 64, description: bfdStates.join(', ') }),
    since: text({ maxLength: 64, description: 'RFC 3339.' }),
    reason: text({ maxLength: longText, description: 'Why it is not up.' }),
    awaited: text({ maxLength: longText, description: 'Why BFD is not up, when the BGP session waits for it (`bfdStrict`).' }),
    warning: text({
      maxLength: longText,
      description:
        'A setting of the BFDProfile that was not applied or is not safe on this node, such as short intervals without real-time priority.',
    }),
  },
  { open: true, description: 'Present when BFD monitors the path to the peer.' },
);

export const damping = object(
  {
    penalty: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, description: 'Each flap adds 1000; it halves in 15 minutes.' }),
    flapsInLastHour: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, description: 'How often it went down.' }),
    until: text({ maxLength: 64, description: 'The session is held back until this time, RFC 3339. Neither side can start one before.' }),
  },
  { open: true, description: 'Present when the session went down unintentionally in the last hour.' },
);

export const family = openObject({
  family: text({ maxLength: 64, description: 'IPv4 or IPv6.' }),
  sent: integer({ ...count, description: 'Routes sent to the peer.' }),
  received: integer({ ...count, description: 'Routes announced by the peer in this session.' }),
  refreshRequested: text({ maxLength: 64, description: 'When the peer last asked for all routes in this session, RFC 3339.' }),
  accepted: integer({ ...count, description: 'Routes that `import` of the BGPPeer accepts. Absent: it has none.' }),
  installed: integer({ ...count, description: 'Accepted routes in the kernel.' }),
});

export const neighbor = openObject({
  address: text({ maxLength: 64, description: 'Its address.' }),
  peerASN: integer({ ...asn, description: 'Its AS number; 0 until it is known.' }),
  state: text({ maxLength: 64, description: sessionStates.join(', ') }),
  since: text({ maxLength: 64, description: 'RFC 3339.' }),
  lastError: text({ maxLength: longText, description: 'Why its session is down, or was down last.' }),
});

export function readNeighbor({ address = '', peerASN = 0, state: word, since = '', lastError }: Value<typeof neighbor>): SessionNeighbor[] {
  const state = sessionStates.find((known) => known === word);
  return state === undefined ? [] : [{ address, peerASN, state, since, ...defined({ lastError }) }];
}

export function readFamily({ family: word, sent = 0, received = 0, refreshRequested }: Value<typeof family>): SessionFamily[] {
  return word === 'IPv4' || word === 'IPv6' ? [{ family: word, sent, received, ...defined({ refreshRequested }) }] : [];
}

export function readDamping(item: Value<typeof damping> | undefined): Pick<SessionStatus, 'damping'> {
  if (item === undefined) return {};
  const { penalty = 0, flapsInLastHour = 0, until } = item;
  return { damping: { penalty, flapsInLastHour, ...defined({ until }) } };
}

export function readBfd(item: Value<typeof bfd> | undefined): Pick<SessionStatus, 'bfd'> {
  const state = bfdStates.find((word) => word === item?.state);
  if (item === undefined || state === undefined) return {};
  const { since = '', reason: why, awaited, warning } = item;
  return { bfd: { state, since, ...defined({ reason: why, awaited, warning }) } };
}
