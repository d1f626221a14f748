import type { AttributeFacts, MessageFacts, PathFacts, UpdateFacts } from './message-facts.ts';

/** Number of prefixes named in one line. An UPDATE may have a thousand. */
const namedPrefixes = 20;

/** Describes a message in one line, for an engineer who watches a session. */
export function messageText(facts: MessageFacts): string {
  switch (facts.kind) {
    case 'OPEN': {
      const { version, asn, holdTime, routerId, capabilities } = facts;
      const offered = capabilities.length === 0 ? 'no capabilities' : capabilities.join('; ');
      return `OPEN version ${version}, AS ${asn}, router ID ${routerId}, hold time ${holdTime} s: ${offered}`;
    }
    case 'UPDATE':
      return `UPDATE ${updateText(facts)}`;
    case 'NOTIFICATION':
      return `NOTIFICATION ${facts.name}${facts.text === undefined ? '' : `: ${JSON.stringify(facts.text)}`}`;
    case 'KEEPALIVE':
      return 'KEEPALIVE';
    case 'ROUTE-REFRESH': {
      const { subtype, family } = facts;
      const what = typeof subtype === 'number' ? `subtype ${subtype}` : subtype;
      return `ROUTE-REFRESH ${what} ${family}`;
    }
    case 'malformed':
      return `malformed: ${facts.problem}`;
  }
}

function updateText({ announced, withdrawn, attributes, endOfRib, faults }: UpdateFacts): string {
  const parts = [
    ...(endOfRib === undefined ? [] : [`End-of-RIB ${endOfRib}`]),
    ...(withdrawn.length === 0 ? [] : [`withdraws ${pathList(withdrawn)}`]),
    ...(announced.length === 0 ? [] : [`announces ${announcements(announced)}`]),
  ];
  const said = [...attributesText(attributes), ...faults.map((fault) => `tolerated: ${fault}`)];
  return [parts.length === 0 ? 'without routes' : parts.join('; '), ...said].join(', ');
}

/** Groups the prefixes by next hop. */
function announcements(paths: readonly PathFacts[]): string {
  const byNextHop = Map.groupBy(paths, ({ nextHops = [] }) => nextHops.join(' and '));
  return [...byNextHop].map(([nextHop, some]) => `${pathList(some)}${nextHop === '' ? '' : ` via ${nextHop}`}`).join('; ');
}

function pathList(paths: readonly PathFacts[]): string {
  const named = paths.slice(0, namedPrefixes).map(({ prefix, pathId }) => `${prefix}${pathId === undefined ? '' : ` path ${pathId}`}`);
  const rest = paths.length - named.length;
  return `${named.join(' ')}${rest === 0 ? '' : ` and ${rest} more`}`;
}

function attributesText(attributes: AttributeFacts): string[] {
  const { origin, asPath, med, localPref, communities, atomicAggregate, aggregator, originatorId, clusterList, onlyToCustomer, other } =
    attributes;
  return [
    ...(asPath === undefined ? [] : [asPath === '' ? 'empty AS path' : `AS path ${asPath}`]),
    ...(origin === undefined ? [] : [`origin ${origin}`]),
    ...(med === undefined ? [] : [`MED ${med}`]),
    ...(localPref === undefined ? [] : [`local preference ${localPref}`]),
    ...(communities === undefined ? [] : [`communities ${communities.join(' ')}`]),
    ...(atomicAggregate === undefined ? [] : ['atomic aggregate']),
    ...(aggregator === undefined ? [] : [`aggregator ${aggregator}`]),
    ...(originatorId === undefined ? [] : [`originator ${originatorId}`]),
    ...(clusterList === undefined ? [] : [`cluster list ${clusterList.join(' ')}`]),
    ...(onlyToCustomer === undefined ? [] : [`only to customer ${onlyToCustomer}`]),
    ...(other === undefined ? [] : [`attributes of type ${other.join(', ')}`]),
  ];
}
