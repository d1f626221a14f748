import { says } from '../model/reasons.ts';
import { isEmptyPlan, type NodeChange, type Plan } from './plan.ts';

const signs = { add: '+', remove: '-', change: '~', start: '+', stop: '-', reset: '!', live: '~' } as const;

/** A plan as lines for a terminal: + comes, - goes, ~ changes in place, ! resets a session. */
export function renderPlan(plan: Plan): string[] {
  if (isEmptyPlan(plan)) return ['Nothing would change.'];
  const { addresses, routes, rules, sessions } = plan;
  return [
    ...section(
      'Addresses',
      addresses.map(({ service, before, after, reason }) => {
        const change = `${list(before)} -> ${list(after)}`;
        return `  ${service}: ${before.join() === after.join() ? list(after) : change}${reason === undefined ? '' : `  (${says(reason)})`}`;
      }),
    ),
    ...section(
      'Sessions',
      sessions.map(({ node, peer, change, fields }) => {
        const why = fields.length === 0 ? '' : ` (${fields.join(', ')})`;
        return `  ${signs[change]} ${node}  ${peer}: ${change === 'live' ? 'changes without a reset' : change}${why}`;
      }),
    ),
    ...section('Routes', routes.map(line)),
    ...section('Rules', rules.map(line)),
    `${addresses.length} addresses, ${sessions.length} sessions, ${routes.length} routes and ${rules.length} rules would change.`,
  ];
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines, ''];
}

function line({ node, change, what }: NodeChange): string {
  return `  ${signs[change]} ${node}  ${what}`;
}

function list(addresses: readonly string[]): string {
  return addresses.length === 0 ? 'none' : addresses.join(', ');
}
