import { defined } from '../../lang/defined.ts';
import type { AnswerHttp, HttpBounds, SocketAddress, ListenHttp } from '../../system/http/http-listener.ts';
import { RetryingListener } from '../../system/http/retrying-listener.ts';
import { limits } from '../limits.ts';
import type { Surroundings } from '../../system/random.ts';

export interface ListenerComponents extends Surroundings {
  readonly listenHttp: ListenHttp;
}

export interface ListenerOptions {
  readonly place: SocketAddress;
  readonly answer: AnswerHttp;
  /** Called when the listener's `problem` changed. */
  readonly onStatusChanged: () => void;
  /** Default: the bounds of health checks. */
  readonly bounds?: HttpBounds;
  /** Resolves when sockets that may use the same port are closed. Absent: there are none. */
  readonly after?: Promise<unknown>;
}

const healthBounds = {
  connections: limits.healthConnections,
  headerBytes: limits.healthHeaderBytes,
  answerMilliseconds: limits.healthAnswerMilliseconds,
  idleMilliseconds: limits.healthIdleMilliseconds,
};

const unspecified: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Listens at an address and port, and retries while it cannot. */
export function retryingHttpListener({ listenHttp, clock, log }: ListenerComponents, options: ListenerOptions): RetryingListener {
  const { place, answer, onStatusChanged, bounds = healthBounds, after } = options;
  return new RetryingListener(clock, {
    listen: () => listenHttp(place, answer, bounds),
    retryMilliseconds: limits.listenRetryMilliseconds,
    onProblemChanged: (problem) => {
      if (problem === undefined) log.info({ ...place }, 'listens now');
      else log.warn({ ...place, problem }, 'cannot listen; retrying');
      onStatusChanged();
    },
    // A host without a family lacks that family's unspecified address: that is no problem. Any other missing address is a configuration
    // error.
    isExpected: ({ code }) => code === 'noAddress' && unspecified.has(place.address),
    ...defined({ after }),
  });
}
