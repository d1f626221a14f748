import { httpGet } from '../../system/http/http-get.ts';
import { processesNamed } from '../../system/processes.ts';
import { limits } from './limits.ts';

const modeUrl = 'http://127.0.0.1:10249/proxyMode';

/**
 * Describes the evidence of a kube-proxy that runs on this node: its process, or the reply of its metrics port. Undefined: there is none.
 */
export async function runningKubeProxy(): Promise<string | undefined> {
  const [process] = await processesNamed('kube-proxy');
  if (process !== undefined) return `process ${process}`;
  const mode = await httpGet(modeUrl, { milliseconds: limits.requestMilliseconds, bytes: limits.answerBytes });
  return mode === undefined ? undefined : `${modeUrl} answers ${JSON.stringify(mode.trim())}`;
}
