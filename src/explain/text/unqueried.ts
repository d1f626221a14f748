import { listText } from '../../decisions/verdict/verdict-text.ts';

/** A process that could not be queried. */
interface Unqueried {
  /** For people: "the agent of node1". */
  readonly who: string;
  /** The node of an agent, when it is known. */
  readonly node?: string;
  readonly why: string;
  readonly fix: string;
}

/** Merges processes that could not be queried for the same reason, apart from the address or the pod that it names, into one entry. */
export function alikeUnqueried(unasked: readonly Unqueried[]): { readonly who: string; readonly why: string; readonly fix: string }[] {
  return [...Map.groupBy(unasked, ({ why, fix }) => `${general(why)} ${general(fix)}`).values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    if (alike.length === 1) return [{ who: first.who, why: first.why, fix: first.fix }];
    return [{ who: namesOf(alike), why: general(first.why), fix: general(first.fix) }];
  });
}

function namesOf(alike: readonly Unqueried[]): string {
  const nodes = [...new Set(alike.flatMap(({ node }) => node ?? []))].toSorted();
  const agents = nodes.length === 0 ? [] : [nodes.length === 1 ? `the agent of ${nodes[0]}` : `the agents of ${listText(nodes)}`];
  const others = [...new Set(alike.flatMap(({ who, node }) => (node === undefined ? [who] : [])))];
  return [...(others.length === 0 ? [] : [listText(others)]), ...agents].join(', and ');
}

/** Replaces what differs between processes with the same problem: addresses with a port, and names of pods. */
function general(text: string): string {
  return text
    .replaceAll(/(?:\b\d{1,3}(?:\.\d{1,3}){3}|\[[\da-f:.]+\]):\d+/gi, 'its address')
    .replaceAll(/\bpod (?!proxy)[\w.-]*\d[\w.-]*/g, 'its pod');
}
