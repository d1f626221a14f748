import { httpGet } from '../../system/http/http-get.ts';
import { processesNamed } from '../../system/processes.ts';
import { limits } from './limits.ts';

const modeUrl = 'http://127.0.0.1:10249/proxyMode';

/** How a kube-proxy that runs on this node shows, in words; undefined: none does. */
export async function runningKubeProxy(): Promise<string | undefined> {
  const [process] = await processesNamed('kube-proxy');
  if (process !== undefined) return `process ${process}`;
  const mode = await httpGet(modeUrl, { milliseconds: limits.requestMilliseconds, bytes: limits.answerBytes });
  return mode === undefined ? undefined : `${modeUrl} answers ${JSON.stringify(mode.trim())}`;
}
