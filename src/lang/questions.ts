/**
 * Questions to somebody who answers them in order, such as another thread. `Answers` has the type of each answer, by the type of the
 * question.
 */
export class Questions<Answers extends object> {
  readonly #send: (question: { readonly type: keyof Answers }) => void;
  readonly #empty: () => Answers;
  readonly #waiting: ((answer: Answers[keyof Answers]) => void)[] = [];
  #closed = false;

  /** `empty`: the answers after `askLast`. */
  constructor(send: (question: { readonly type: keyof Answers }) => void, empty: () => Answers) {
    this.#send = send;
    this.#empty = empty;
  }

  /** True after `askLast`. */
  get closed(): boolean {
    return this.#closed;
  }

  ask<Q extends { readonly type: keyof Answers }>(question: Q): Promise<Answers[Q['type']]> {
    if (this.#closed) return Promise.resolve(this.#empty()[question.type]);
    return new Promise<Answers[Q['type']]>((resolve) => {
      this.#waiting.push((answer) => resolve(answer));
      this.#send(question);
    });
  }

  /** Asks a question after which nothing is sent any more: later ones get the empty answer. */
  askLast<Q extends { readonly type: keyof Answers }>(question: Q): Promise<Answers[Q['type']]> {
    const answer = this.ask(question);
    this.#closed = true;
    return answer;
  }

  /** Takes the answer to the oldest question without one. */
  answered(answer: Answers[keyof Answers]): void {
    this.#waiting.shift()?.(answer);
  }
}
