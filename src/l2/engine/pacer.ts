import type { Clock } from '../../system/clock.ts';
import { Alarm, type Schedule } from '../../system/schedule.ts';
import { announcementBurst, announcementsPerSecond } from '../limits.ts';
import { TokenBucket } from '../../lang/token-bucket.ts';

/** Work that waits for its turn. `send` sends one frame, or returns false if the work is no longer wanted. */
export type Job = () => boolean;

/** In the order in which they are sent: an answer to a conflict, the first announcement of a claim, the rest. */
export const urgencies = ['defence', 'claim', 'repeat', 'refresh'] as const;
export type Urgency = (typeof urgencies)[number];

/** Spreads frames over time: a bounded number a second, urgent ones first, otherwise in the order of arrival. */
export class Pacer {
  readonly #clock: Clock;
  readonly #schedule: Schedule;
  readonly #bucket = new TokenBucket({ burst: announcementBurst, refillMilliseconds: 1_000 / announcementsPerSecond });
  readonly #queues: Readonly<Record<Urgency, JobQueue>> = {
    defence: new JobQueue(),
    claim: new JobQueue(),
    repeat: new JobQueue(),
    refresh: new JobQueue(),
  };
  readonly #alarm = new Alarm(() => this.#drain());

  constructor(clock: Clock, schedule: Schedule) {
    this.#clock = clock;
    this.#schedule = schedule;
  }

  get size(): number {
    return urgencies.reduce((sum, urgency) => sum + this.#queues[urgency].size, 0);
  }

  add(urgency: Urgency, job: Job): void {
    this.#queues[urgency].push(job);
    // Work that is added together is sent together, in the order of urgency.
    if (this.#alarm.due === undefined) this.#schedule.setAlarm(this.#alarm, this.#clock.now());
  }

  #drain(): void {
    for (const urgency of urgencies) {
      const queue = this.#queues[urgency];
      while (queue.size > 0) {
        const now = this.#clock.now();
        if (!this.#bucket.take(now)) {
          this.#schedule.setAlarm(this.#alarm, now + 1);
          return;
        }
        while (queue.size > 0) if (queue.shift()()) break;
      }
    }
  }
}

/** A queue whose `shift` costs the same for any length. */
class JobQueue {
  #jobs: Job[] = [];
  #first = 0;

  get size(): number {
    return this.#jobs.length - this.#first;
  }

  push(job: Job): void {
    this.#jobs.push(job);
  }

  /** The queue must not be empty. */
  shift(): Job {
    const job = this.#jobs[this.#first++];
    if (job === undefined) throw new RangeError('the queue is empty');
    if (this.#first > 1024 && this.#first * 2 > this.#jobs.length) {
      this.#jobs = this.#jobs.slice(this.#first);
      this.#first = 0;
    }
    return job;
  }
}
