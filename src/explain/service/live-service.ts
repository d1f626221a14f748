import { defined } from '../../lang/defined.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';
import { withLiveL2 } from '../l2/l2-address.ts';
import { sourcesOf } from '../sessions/block-source.ts';
import { liveView, type LiveNodes } from '../sessions/live-view.ts';
import { withFailureAges } from './seen/failure-ages.ts';
import { withLiveNode } from './live-routes.ts';
import { secondsSince } from '../text/age.ts';
import { explainService, withConclusion, type BesideSnapshot, type SeenExplanation, type ServiceExplanation } from './service.ts';

/**
 * Explains a Service from the answers of queried agents, and from decisions and reports where no agent answered. Everything that follows
 * from sessions and routes, as the verdict and what clients see, is derived after the answers were merged.
 */
export function explainLiveService(
  snapshot: Snapshot,
  key: ServiceKey,
  now: number,
  { live, ...beside }: BesideSnapshot & { readonly live: LiveNodes },
): ServiceExplanation | undefined {
  const view = liveView(snapshot, live, now);
  const explanation = explainService(view.snapshot, key, now, beside);
  if (explanation === undefined) return undefined;
  const nodes = explanation.nodes.map((node) => {
    const source = sourcesOf(snapshot, node.node, now, view);
    // In the view, the report of an earlier process has the age of the answer.
    const { reportedSecondsAgo: _, ...others } = withLiveNode(node, live);
    return { ...others, ...defined({ reportedSecondsAgo: source.reportedSecondsAgo }), source };
  });
  const l2 = explanation.l2?.map((address) => withLiveL2(address, live, now));
  const seen = withLiveChecks(explanation.seen, live, now);
  return withConclusion({ ...explanation, ...defined({ l2 }), seen, nodes: withFailureAges(nodes, live, now) }, view.snapshot);
}

/** Adds when and where an answer was last seen, and what no report has yet. */
function withLiveChecks(seen: SeenExplanation, live: LiveNodes, now: number): SeenExplanation {
  const answers = [...live].flatMap(([node, { checks = [] }]) =>
    checks.flatMap(({ frontend, answered, stale }) => {
      const secondsAgo = stale === true ? undefined : secondsSince(answered, now);
      return secondsAgo === undefined ? [] : [{ frontend, secondsAgo, node }];
    }),
  );
  const latest = new Map(answers.toSorted((a, b) => b.secondsAgo - a.secondsAgo).map((one) => [one.frontend, one]));
  const reported = seen.answered.map(({ frontend }) => latest.get(frontend) ?? { frontend });
  const others = [...latest.values()].filter(({ frontend }) => !seen.answered.some((one) => one.frontend === frontend));
  return { ...seen, answered: [...reported, ...others] };
}
