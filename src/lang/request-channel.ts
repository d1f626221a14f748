/** Requests to a party that answers them in order, such as another thread. `Answers` has the type of each answer, by that of the request. */
export class RequestChannel<Answers extends object> {
  readonly #send: (request: { readonly type: keyof Answers }) => void;
  readonly #empty: () => Answers;
  readonly #waiting: ((answer: Answers[keyof Answers]) => void)[] = [];
  #closed = false;

  /** `empty`: the answers after `askLast`. */
  constructor(send: (request: { readonly type: keyof Answers }) => void, empty: () => Answers) {
    this.#send = send;
    this.#empty = empty;
  }

  /** True after `askLast`. */
  get closed(): boolean {
    return this.#closed;
  }

  ask<Q extends { readonly type: keyof Answers }>(request: Q): Promise<Answers[Q['type']]> {
    if (this.#closed) return Promise.resolve(this.#empty()[request.type]);
    return new Promise<Answers[Q['type']]>((resolve) => {
      this.#waiting.push((answer) => resolve(answer));
      this.#send(request);
    });
  }

  /** Sends a request after which nothing is sent any more: later ones get the empty answer. */
  askLast<Q extends { readonly type: keyof Answers }>(request: Q): Promise<Answers[Q['type']]> {
    const answer = this.ask(request);
    this.#closed = true;
    return answer;
  }

  /** Takes the answer to the oldest request without one. */
  answered(answer: Answers[keyof Answers]): void {
    this.#waiting.shift()?.(answer);
  }
}
