import { DataplaneError } from '../../../dataplane/dataplane.ts';
import { runCommand } from '../../../dataplane/run-command.ts';
import type { CheckLine } from '../../../live/contract.ts';
import type { ServiceKey } from '../../../model/objects/metadata.ts';
import { limits } from '../../limits.ts';
import { LiveError } from '../../live/live-client.ts';
import type { CallerOptions } from '../../options/shared-options.ts';
import { readCheckLines } from './check-lines.ts';

interface AgentPod {
  readonly namespace: string;
  readonly pod: string;
}

/**
 * Runs `herald check node` in the pod of an agent by `kubectl exec`, with the caller's own kubectl and credentials. It starts traffic, so it
 * needs the right to `create` `pods/exec` there. Returns the lines of each Service. Rejects with LiveError.
 */
export async function checkInPod(
  { namespace, pod }: AgentPod,
  services: readonly ServiceKey[],
  options: CallerOptions,
): Promise<ReadonlyMap<string, readonly CheckLine[]>> {
  const inPod = ['herald', 'check', 'node', ...services.flatMap((service) => ['--service', service]), '-o', 'json'];
  const words = [...clusterWords(options), '--namespace', namespace, 'exec', pod, '--', ...inPod];
  const bounds = { timeout: limits.checkAnswerMilliseconds * services.length, outputBytes: limits.checkAnswerBytes };
  let outcome;
  try {
    outcome = await runCommand(['kubectl', ...words], '', bounds);
  } catch (error) {
    if (!(error instanceof DataplaneError)) throw error;
    if (error.code === 'failed')
      throw new LiveError(`kubectl exec in pod ${pod} was ended: ${error.message}`, 'check fewer Services at once');
    throw new LiveError('kubectl is not in PATH, and checks run by `kubectl exec` in the pods of agents', 'install kubectl', {
      cause: error,
    });
  }
  const found = await linesByService(outcome.stdout);
  if (found.size > 0) return found;
  throw refusalOf(outcome.stderr, namespace, pod);
}

function clusterWords({ kubeconfig, context, apiserver, as, asGroup = [], token }: CallerOptions): string[] {
  return [
    ...(kubeconfig === undefined ? [] : ['--kubeconfig', kubeconfig]),
    ...(context === undefined ? [] : ['--context', context]),
    ...(apiserver === undefined ? [] : ['--server', apiserver.href]),
    ...(as === undefined ? [] : ['--as', as]),
    ...asGroup.flatMap((group) => ['--as-group', group]),
    ...(token === undefined ? [] : ['--token', token]),
  ];
}

async function linesByService(stdout: string): Promise<Map<string, CheckLine[]>> {
  const found = new Map<string, CheckLine[]>();
  let present: CheckLine[] = [];
  for await (const line of readCheckLines(chunksOf(stdout))) {
    if (line.type === 'begin') found.set(line.service, (present = []));
    else present.push(line);
  }
  return found;
}

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** kubectl has no codes, so its text decides only about the fix. */
function refusalOf(stderr: string, namespace: string, pod: string): LiveError {
  const said = stderr.trim().split('\n')[0] ?? '';
  if (/forbidden/i.test(said))
    return new LiveError(
      `you may not exec in pods of the namespace ${namespace}`,
      'bind the Role herald-check of that namespace (manifests/base/check-rbac.yaml): who has it may start traffic from every node, and do all that agents may',
    );
  if (/unknown command|not found: \/debug|no checks/i.test(stderr)) return new LiveError('its version has no checks', 'update it');
  return new LiveError(
    `herald check node failed in pod ${pod}: ${said === '' ? 'it printed nothing' : said.slice(0, 300)}`,
    `kubectl -n ${namespace} logs ${pod}`,
  );
}
