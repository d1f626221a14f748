import { httpGet } from '../../system/http/http-get.ts';
import { processesNamed } from '../../system/processes.ts';
import { limits } from './limits.ts';

const modeUrl = 'http://127.0.0.1:10249/proxyMode';
/** Only Herald's agent answers this path of kube-proxy's port. */
const heraldUrl = 'http://127.0.0.1:10249/herald';

/**
 * Describes the evidence of a kube-proxy that runs on this node: its process, or the reply of its metrics port. Undefined: there is none.
 */
export async function runningKubeProxy(): Promise<string | undefined> {
  const [process] = await processesNamed('kube-proxy');
  if (process !== undefined) return `process ${process}`;
  const bounds = { milliseconds: limits.requestMilliseconds, bytes: limits.answerBytes };
  if ((await httpGet(heraldUrl, bounds)) !== undefined) return undefined;
  const mode = await httpGet(modeUrl, bounds);
  return mode === undefined ? undefined : `${modeUrl} answers ${JSON.stringify(mode.trim())}`;
}
