import { limits } from '../../../live/limits.ts';
import type { Clock } from '../../../system/clock.ts';
import { RetryingListener } from '../../../system/http/retrying-listener.ts';
import { listenLocal, type AnswerLocal } from '../../../system/http/local-socket.ts';
import type { Log } from '../../../system/log.ts';

/** Answers at a socket, as soon as nobody else does: the one that has it may be the process before this one. A process without it does its work all the same. */
export function lastingSocket(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  path: string,
  answer: AnswerLocal,
): RetryingListener {
  const { connections, headerBytes, requestMilliseconds, idleMilliseconds, retryMilliseconds } = limits;
  return new RetryingListener(clock, {
    listen: () => listenLocal(path, answer, { connections, headerBytes, requestMilliseconds, idleMilliseconds }),
    retryMilliseconds,
    changed: (problem) => {
      if (problem === undefined) log.info({ socket: path }, 'can be asked at its socket now');
      else log.warn({ socket: path, problem }, 'cannot be asked at its socket, it is tried again (--socket says where)');
    },
  });
}
