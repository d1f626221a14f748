/** Bounds of requests to the API server and of its responses. Listed in docs/reference/limits.md. */
export const limits = {
  /** Open connections: one for each watch, and a few for requests. */
  connections: 128,
  /** One response that is not a watch, after decompression. */
  answerBytes: 64 * 1024 * 1024,
  /** One line of a watch in JSON, or one frame in protobuf. An object of the API server has at most 1.5 MiB in its own encoding. */
  lineBytes: 8 * 1024 * 1024,
  /** Characters of the API server's text that a message quotes. */
  quoted: 300,
  /** Objects in one page of a list. */
  pageItems: 500,
  /** Fields of one object, or objects of one list, in protobuf. A field takes two octets or more, so no object of 1.5 MiB has as many. */
  objectFields: 1_000_000,
  /** Texts in protobuf that are remembered, so that equal ones in many objects are one. A power of two. */
  sharedTexts: 4096,
  /** A response that is not a watch is abandoned after this. */
  answerMilliseconds: 60_000,
  /** A token file is read again after this. The kubelet replaces it long before it expires. */
  credentialsMilliseconds: 60_000,
  /** An idle connection is probed after this, so that a dead one is noticed 10 s later. */
  keepAliveMilliseconds: 15_000,
  /** A watch ends after this, plus a random time up to as much again, so that agents do not all reopen at once. */
  watchSeconds: 300,
  /** A silent watch is abandoned after this. Bookmarks arrive every 60 to 75 s. */
  silenceMilliseconds: 120_000,
  /** Shortest and longest pause before a failed list or watch is retried. The pause doubles each time. */
  retryMinimumMilliseconds: 800,
  retryMaximumMilliseconds: 30_000,
  /** The pause is reset after a watch that worked for this long. */
  healthyMilliseconds: 30_000,
  /** Longest pause that the API server may ask for (Retry-After). */
  retryAfterMaximumMilliseconds: 120_000,
  /** The list is read again after a watch got this many server errors in a row. */
  refusalsBeforeList: 5,
  /** Pause before a kind that the API server lacks is looked for again. */
  absentMilliseconds: 30_000,
  /** A kind with known objects counts as removed when it was not found this often in a row. */
  absentLooks: 3,
  /** A waiting process takes the Lease when it saw no change of it for this long: client-go's value, as are the next two. */
  leaseMilliseconds: 15_000,
  /** A leader that could not renew for this long stops leading. It ends 5 s before another process may lead. */
  renewDeadlineMilliseconds: 10_000,
  /**
   * Pause between renewals. A waiting process adds up to this fraction of it at random, so that not all ask at once.
   */
  leaseRetryMilliseconds: 2000,
  leaseRetryJitter: 1.2,
  /** A request about a Lease is abandoned after this, so that there is time for another one before the deadline. */
  leaseAnswerMilliseconds: 5000,
  /** Pause between two messages of the main thread, with its credentials, to the thread that renews the Lease. */
  credentialsSentMilliseconds: 20_000,
  /** The Lease is not renewed after the main thread said nothing for this long: it hangs, and another process shall lead. */
  mainThreadMilliseconds: 60_000,
  /** A difference between this host's clock and the API server's that counts, and below which it ends. */
  skewMilliseconds: 5000,
  skewEndMilliseconds: 2000,
  /** Answers in a row that must show it. */
  skewAnswers: 3,
  /** The API server's bounds in octets: an Event's note, its other words, and an object's name. */
  eventNote: 1024,
  eventWord: 128,
  objectName: 253,
  /** Events waiting to be written. Beyond the bound, Events that are no warnings are lost first. */
  eventQueue: 20_000,
  /** Events written at the same time. */
  eventsAtWork: 4,
  /** Attempts to write an Event while the API server is away or busy. */
  eventAttempts: 5,
  /** Budget of one object: burst, time for one more token, and the number of remembered objects (all client-go's). */
  eventBurst: 25,
  eventTokenMilliseconds: 300_000,
  eventObjects: 4096,
  /** Budget of all objects together: burst and time for one more token. */
  eventRateBurst: 500,
  eventRateMilliseconds: 20,
  /** Time for one more token while many statuses of Services are being written. */
  eventBusyRateMilliseconds: 200,
  /** Events whose repetition is noticed (client-go's). */
  eventSeries: 4096,
  /** A series ends after this quiet time; a running one is written in between (both client-go's). */
  eventFinishMilliseconds: 360_000,
  eventRefreshMilliseconds: 1_800_000,
  /** Lost Events are logged at most this often. */
  eventLossMilliseconds: 60_000,
} as const;
