import { dockerBridge, type FilterCondition, type FilterRule } from '../../../net/host-filter.ts';
import { familyOf } from '../../../net/prefix.ts';

/** Returns the kind of packets that match all of the conditions. */
export function packetsOf(conditions: readonly FilterCondition[]): FilterRule['packets'] {
  if (conditions.length === 0) return 'all';
  if (conditions.some(isOfOthers)) return 'others';
  if (conditions.some((condition) => condition.field === 'other' || condition.field === 'rate' || condition.negated)) return 'some';
  const isOnly = (...fields: readonly FilterCondition['field'][]): boolean => conditions.every(({ field }) => fields.includes(field));
  if (isOnly('translated')) return 'translated';
  const [to, ...others] = conditions.filter((one) => one.field === 'destination');
  if (to !== undefined && others.length === 0 && isOnly('family', 'destination')) {
    const families = conditions.flatMap((one) => (one.field === 'family' ? [one.family] : []));
    return to.prefixes.every((prefix) => families.every((family) => family === familyOf(prefix))) ? { to: to.prefixes } : 'some';
  }
  const [ports, ...more] = conditions.filter((one) => one.field === 'port');
  const protocols = conditions.flatMap((one) => (one.field === 'protocol' ? [one.names.join()] : []));
  const isOfNewTcp = protocols.length > 0 && protocols.every((name) => name === 'tcp') && conditions.every(includesNew);
  return ports !== undefined && more.length === 0 && isOfNewTcp && isOnly('protocol', 'port', 'state') ? ports.ranges : 'some';
}

const includesNew = (one: FilterCondition): boolean => one.field !== 'state' || one.states.includes('new');

/** True for packets of known connections only, and for those on a bridge of Docker. */
function isOfOthers(condition: FilterCondition): boolean {
  if (condition.field === 'other' || condition.field === 'rate' || condition.negated) return false;
  if (condition.field === 'state') return condition.states.length > 0 && condition.states.every((state) => known.has(state));
  if (condition.field !== 'interface' && condition.field !== 'outInterface') return false;
  return condition.names.length > 0 && condition.names.every((name) => dockerBridge.test(name));
}

const known: ReadonlySet<string> = new Set(['established', 'related', 'invalid']);
