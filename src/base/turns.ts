// Values that wait, of several groups that take turns: a long row of one group delays each other group by one of its values
// only. Within a group first come, first served.

interface Group<T> {
  readonly name: string;
  readonly values: LinkedList<T>;
  place: ListNode<Group<T>> | undefined;
}

/**
 * Every operation takes constant time, but that finding the first that may go costs a step for each group and value that is
 * passed over.
 */
export class Turns<T> {
  readonly #groups = new Map<string, Group<T>>();
  /** The group whose turn it is first; none is empty. One that was empty takes its turn last. */
  readonly #order = new LinkedList<Group<T>>();

  push(name: string, value: T): ListNode<T> {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, values: new LinkedList(), place: undefined };
      group.place = this.#order.push(group);
      this.#groups.set(name, group);
    }
    return group.values.push(value);
  }

  /** The first that may go, of the first group that has one. */
  first(mayGo: (value: T) => boolean): T | undefined {
    for (let group = this.#order.first; group !== undefined; group = group.next) {
      const found = firstOf(group.value.values, mayGo);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The first value of the group whose turn it is. */
  get next(): T | undefined {
    return this.#order.first?.value.values.first?.value;
  }

  /** Takes it out. */
  shift(): void {
    const group = this.#order.first?.value;
    const node = group?.values.first;
    if (group !== undefined && node !== undefined) this.remove(group.name, node);
  }

  /** Takes a value out of its group, whose turn that was. */
  remove(name: string, node: ListNode<T>): void {
    const group = this.#groups.get(name);
    if (group?.place === undefined) return;
    group.values.remove(node);
    this.#order.remove(group.place);
    if (group.values.first === undefined) this.#groups.delete(name);
    else group.place = this.#order.push(group);
  }
}

/** The first that may go. */
export function firstOf<T>(list: LinkedList<T>, mayGo: (value: T) => boolean): T | undefined {
  let node = list.first;
  while (node !== undefined && !mayGo(node.value)) node = node.next;
  return node?.value;
}

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
