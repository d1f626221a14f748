import { findEntry, reasonText, remedyText, stableText, type Reason, type ReasonCode } from '../../model/reasons.ts';
import type { Cause } from './causes/causes.ts';
import type { ClientReachability } from './client-reachability.ts';

/** More names than this are counted. */
const shownNames = 5;

/** "n1, n2 and n3"; "n1, n2, n3, n4, n5 and 7 others". */
export function listText(names: readonly string[]): string {
  const hidden = names.length - shownNames;
  const shown = hidden > 0 ? [...names.slice(0, shownNames), `${hidden} others`] : names;
  const [last = ''] = shown.slice(-1);
  return shown.length < 2 ? last : `${shown.slice(0, -1).join(', ')} and ${last}`;
}

/** Names addresses of which every port fails, and single targets of the others. */
export function targetsText(failed: readonly ClientReachability[], answered: readonly ClientReachability[]): string {
  const works = new Set(answered.map(({ address }) => address));
  return listText([...new Set(failed.map(({ address, target }) => (works.has(address) ? target : address)))]);
}

/** Returns the first cause and its nodes; a second cause follows it, others are counted. `all`: how many nodes there are. */
export function causeText(causes: readonly Cause[], all: number): string {
  const [first, second] = causes;
  if (first === undefined) return '';
  const more = second === undefined ? '' : `; ${oneCause(second, all)}`;
  return `${oneCause(first, all)}${more}`;
}

function oneCause({ reason, nodes }: Cause, all: number): string {
  const text = causeSentence(reason);
  if (nodes.length === 0 || (all === 1 && nodes.length === 1)) return text;
  if (nodes.length === all) return isOfNode(reason) ? `${text} (the same on all ${all} nodes)` : text;
  const isNamed = nodes.length === 1 && nodes.every((node) => text.includes(node));
  return isNamed ? text : `${text} (${isSeen(reason) ? 'seen on' : 'on'} ${listText(nodes)})`;
}

/** The cause without what changes while it stays, such as the latest symptom of a session that is down. */
function causeSentence(because: Reason): string {
  return stableText(because) ?? reasonText(because);
}

/** True for what nodes saw of connections to endpoints, which may be on other nodes. */
const seenReasons: ReadonlySet<string> = new Set<ReasonCode>([
  'EndpointRefuses',
  'EndpointSilent',
  'EndpointAnswersLost',
  'ClientsDoNotComplete',
  'EndpointHangs',
  'EndpointSendsNothing',
  'LargeAnswersUnacknowledged',
  'AnswersUnacknowledged',
]);
const isSeen = ({ code }: Reason): boolean => seenReasons.has(code);

/** False for reasons that are the same on every node, because they concern the Service or its configuration. */
function isOfNode({ details }: Reason): boolean {
  return ['node', 'peer', 'frontend', 'error'].some((name) => Object.hasOwn(details ?? {}, name));
}

/** "Not served: pool public is full. Add addresses to IPAddressPool public." */
export function problemLine(lead: string, cause: string, because: Reason): { readonly line: string; readonly fix?: string } {
  const remedy = remedyText(because);
  const said = sentence(`${lead}: ${cause}`);
  if (remedy === '') return { line: said };
  const fix = sentence(capitalized(remedy));
  return { line: `${said} ${fix}`, fix };
}

/** Returns a reason and its fix as sentences. */
export function reasonLine(because: Reason, remedy = remedyText(because)): string {
  return `${sentence(capitalized(causeSentence(because)))}${remedy === '' ? '' : ` ${sentence(capitalized(remedy))}`}`;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Leaves commands, paths and names of fields as they are. */
function capitalized(text: string): string {
  return /^[a-z]+[ ,;:]/.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text;
}

const exists = 'Its load balancer exists, but not as it asks';
const unseen = 'Not known whether its load balancer is as it asks';
const absent = 'Not served';

/** How the verdict begins on a Service that has the load balancer of a provider, and what keeps it from having what it asks for. */
export function leadOfLoadBalancer(because: Reason): string {
  return findEntry(because.code)?.unseen?.(because.details as never) === true ? unseen : exists;
}

/** Returns the recorded message of a condition as a verdict. Only records of earlier versions have no lead. */
export function withLead(message: string, hasLoadBalancer: boolean): string {
  if ([exists, unseen, absent].some((lead) => message.startsWith(`${lead}:`))) return message;
  return `${hasLoadBalancer ? exists : absent}: ${message}`;
}
