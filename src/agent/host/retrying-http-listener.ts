import { defined } from '../../lang/defined.ts';
import type { Clock } from '../../system/clock.ts';
import type { AnswerHttp, HttpBounds, SocketAddress, ListenHttp } from '../../system/http/http-listener.ts';
import { RetryingListener } from '../../system/http/retrying-listener.ts';
import type { Log } from '../../system/log.ts';
import { limits } from '../limits.ts';

export interface ListenerComponents {
  readonly listenHttp: ListenHttp;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ListenerOptions {
  readonly place: SocketAddress;
  readonly answer: AnswerHttp;
  /** Called when `problem` has changed. */
  readonly onStatusChanged: () => void;
  /** Default: those of health checks. */
  readonly bounds?: HttpBounds;
  /** Sockets that are being closed, perhaps on this very port. */
  readonly after?: Promise<unknown>;
}

const healthBounds = {
  connections: limits.healthConnections,
  headerBytes: limits.healthHeaderBytes,
  requestMilliseconds: limits.healthRequestMilliseconds,
  idleMilliseconds: limits.healthIdleMilliseconds,
};

const unspecified: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Answers at a port, as soon as it is free. */
export function retryingHttpListener({ listenHttp, clock, log }: ListenerComponents, options: ListenerOptions): RetryingListener {
  const { place, answer, onStatusChanged, bounds = healthBounds, after } = options;
  return new RetryingListener(clock, {
    listen: () => listenHttp(place, answer, bounds),
    retryMilliseconds: limits.listenRetryMilliseconds,
    onProblemChanged: (problem) => {
      if (problem === undefined) log.info({ ...place }, 'listens now');
      else log.warn({ ...place, problem }, 'cannot listen, it is tried again');
      onStatusChanged();
    },
    // All addresses of a family that the host has not are none; one address that it has not is somebody's mistake.
    isExpected: ({ code }) => code === 'noAddress' && unspecified.has(place.address),
    ...defined({ after }),
  });
}
