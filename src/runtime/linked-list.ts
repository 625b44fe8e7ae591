export interface ListNode<T> {
  readonly value: T;
  previous: ListNode<T> | undefined;
  next: ListNode<T> | undefined;
}

/** A list with removal from any place in constant time. A Set would do, but its front gets slow as it is emptied. */
export class LinkedList<T> {
  #first: ListNode<T> | undefined;
  #last: ListNode<T> | undefined;

  get first(): ListNode<T> | undefined {
    return this.#first;
  }

  push(value: T): ListNode<T> {
    const node: ListNode<T> = { value, previous: this.#last, next: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.next = node;
    this.#last = node;
    return node;
  }

  /** The node must be in this list. */
  remove(node: ListNode<T>): void {
    if (node.previous === undefined) this.#first = node.next;
    else node.previous.next = node.next;
    if (node.next === undefined) this.#last = node.previous;
    else node.next.previous = node.previous;
  }

  clear(): void {
    this.#first = undefined;
    this.#last = undefined;
  }
}
