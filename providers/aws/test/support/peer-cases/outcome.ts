import { decideAwsClaim } from '../../../../../providers/aws/desire/claim.ts';
import { desireStack, memberOf, membersOf, stackOf } from '../../../../../providers/aws/desire/stack.ts';
import { hasOurFinalizer } from '../../../../../providers/aws/model/service-metadata.ts';
import { clusterConfig } from '../../../../../src/model/kinds/default-config.ts';
import { serviceKey } from '../../../../../src/model/objects/metadata.ts';
import { cluster } from '../../../../../test/unit/decisions/fixtures.ts';
import { changesOf } from './changes.ts';
import type { Parts, PeerCase, PeerTable } from './case-files.ts';
import { circumstancesOf, serviceOf, settingsOf, type Given, type ServiceInput } from './inputs.ts';
import { partsOf } from './parts.ts';

/** Computes what Herald makes of the input of a case. */
export async function outcomeOf(table: PeerTable, { service = {}, before = service, given = {}, drift = {} }: PeerCase): Promise<Parts> {
  const all: Given = { ...table.given, ...given, settings: { ...table.given?.settings, ...given.settings } };
  if (table.checks === 'changes') return changesOf(before, service, all, drift);
  return table.checks === 'claim' ? claimOf(service, all) : desireOf(service, all);
}

function desireOf(input: ServiceInput, given: Given): Parts {
  const service = serviceOf(input, given);
  if (service === undefined) return { refused: ['invalid manifest'] };
  const claim = decideAwsClaim(service, clusterConfig, settingsOf(given));
  if (!claim.mine) return { refused: [claim.reason.code] };
  const member = memberOf(service, claim.kind);
  const { desired, errors, warnings } = desireStack(stackOf(member), [member], circumstancesOf(given, service));
  const codes = [...errors.values()].flat().map(({ code }) => code);
  if (desired === undefined || codes.length > 0) return { refused: [...new Set(codes)].toSorted() };
  const unsupported = [...warnings.values()].flat().filter(({ code }) => code === 'AwsAnnotationUnsupported');
  return {
    ...partsOf(desired),
    ignored: unsupported.map(({ details }) => (details as { key: string }).key.replace(/^.*aws-load-balancer-/, '')),
  };
}

/** Tells whether Herald serves a Service, with which kind of load balancer, and whether it has resources that must be released. */
function claimOf(input: ServiceInput, given: Given): Parts {
  const service = serviceOf(input, given);
  if (service === undefined) return { refused: ['invalid manifest'] };
  const [member] = membersOf(
    serviceKey(service.metadata),
    { ...cluster({}), config: clusterConfig, services: new Map([[serviceKey(service.metadata), service]]) },
    settingsOf(given),
  );
  return { served: member?.kind ?? 'no', pending: hasOurFinalizer(service) };
}
