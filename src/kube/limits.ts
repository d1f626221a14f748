/** Bounds of what Herald says to the API server and reads from it. Listed in docs/reference/limits.md. */
export const limits = {
  /** Connections that are open at the same time: one a watch, and a few for requests. */
  connections: 128,
  /** One answer that is no watch, after decompression. */
  answerBytes: 64 * 1024 * 1024,
  /** One line of a watch: an object of the API server has 1.5 MiB at most in its own encoding. */
  lineBytes: 8 * 1024 * 1024,
  /** Text of the API server that a message quotes. */
  quoted: 300,
  /** Objects in one page of a list. */
  pageItems: 500,
  /** An answer that is no watch is given up after this. */
  answerMilliseconds: 60_000,
  /** A token in a file is read again after this; the kubelet replaces it long before it expires. */
  credentialsMilliseconds: 60_000,
  /** An idle connection is probed after this, so that one that leads nowhere is noticed 10 s later. */
  keepAliveMilliseconds: 15_000,
  /** A watch ends by itself after this, plus up to as much again, so that not all agents open theirs at once. */
  watchSeconds: 300,
  /** A watch that says nothing for this long is given up. Bookmarks come every 60 to 75 s. */
  silenceMilliseconds: 120_000,
  /** First and longest pause before a list or a watch that failed is tried again; doubles each time. */
  retryMinimumMilliseconds: 800,
  retryMaximumMilliseconds: 30_000,
  /** The pauses begin at the shortest again after a watch that worked for this long. */
  healthyMilliseconds: 30_000,
  /** Longest pause that the API server may ask for (Retry-After). */
  retryAfterMaximumMilliseconds: 120_000,
  /** The list is read again after a watch was refused with an error of the server this often in a row. */
  refusalsBeforeList: 5,
  /** Pause before a kind that the API server does not have is looked for again. */
  absentMilliseconds: 30_000,
  /** A kind whose objects were there is gone when it was not found this often in a row. */
  absentLooks: 3,
  /** Of an election (client-go's): how long a Lease counts after its last renewal; a leader that could not renew it for so long leads no more. */
  leaseMilliseconds: 15_000,
  renewDeadlineMilliseconds: 10_000,
  /** Pause between renewals; one that waits asks as often, and up to this part of it less often, so that not all ask at once. */
  leaseRetryMilliseconds: 2000,
  leaseRetryJitter: 1.2,
  /** One request about a Lease is given up after this: there must be time for another one before the deadline. */
  leaseAnswerMilliseconds: 5000,
  /** The API server's bounds: octets of the note of an Event, of its other words, and of the name of an object. */
  eventNote: 1024,
  eventWord: 128,
  objectName: 253,
  /** Events that wait to be written; beyond that those that are no warnings are lost first. */
  eventQueue: 5000,
  /** Events that are written at the same time. */
  eventsAtWork: 4,
  /** Attempts to write an Event while the API server is away or busy. */
  eventAttempts: 5,
  /** Events of one object: so many at once, then one in such a time; objects that are told apart (all three client-go's). */
  eventBurst: 25,
  eventTokenMilliseconds: 300_000,
  eventObjects: 4096,
  /** Events of all objects together: so many at once, then one in such a time. */
  eventRateBurst: 500,
  eventRateMilliseconds: 20,
  /** Events whose repetition is noticed (client-go's). */
  eventSeries: 4096,
  /** A series has ended when it was quiet for so long; one that has not is written down in between (both client-go's). */
  eventFinishMilliseconds: 360_000,
  eventRefreshMilliseconds: 1_800_000,
  /** That Events are lost is logged this often at most. */
  eventLossMilliseconds: 60_000,
} as const;
