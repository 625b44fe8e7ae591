// What the roles of a running bundle serve, as series on which the alerts can be tried.
import { probe } from '../../../hack/local/role-process.ts';
import type { UnitTest } from './promtool.ts';
import { type Component, scraped } from './series.ts';

/** Minutes for which a state is held: more than the alerts wait for the states of tests, and their shorter windows. */
const HELD = 35;

type State = ReadonlyMap<string, string>;

/** Each state is read once from the real roles, and then lasts. */
export class Recording {
  readonly #ports: Readonly<Partial<Record<Component, number>>>;
  readonly #states: State[] = [];
  readonly #expected: (readonly string[])[] = [];

  constructor(ports: Readonly<Partial<Record<Component, number>>>) {
    this.#ports = ports;
  }

  /** Reads the state in which exactly these alerts should fire. */
  async add(...firing: readonly string[]): Promise<void> {
    const ports = Object.entries(this.#ports) as [Component, number][];
    const read = await Promise.all(ports.map(([component, port]) => scrape(component, port)));
    this.#states.push(new Map(read.flat()));
    this.#expected.push(firing);
  }

  test(name: string): UnitTest {
    const names = new Set(this.#states.flatMap((state) => [...state.keys()]));
    return {
      name,
      // Times in the series are real ones.
      start_timestamp: Math.floor(Date.now() / 1000),
      input_series: [...names].map((series) => ({ series, values: this.#states.map(held(series)).join(' ') })),
      promql_expr_test: this.#expected.map((firing, index) => ({
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${(index + 1) * HELD - 1}m`,
        exp_samples: firing.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
      })),
    };
  }
}

function held(series: string): (state: State) => string {
  return (state) => {
    const value = state.get(series);
    if (value === undefined) return `_x${HELD}`;
    // What is no number cannot be repeated.
    return value === 'Nan' ? Array<string>(HELD).fill('NaN').join(' ') : `${value}x${HELD - 1}`;
  };
}

/** As Prometheus reads it: what does not answer has no series but `up`. */
async function scrape(component: Component, port: number): Promise<readonly (readonly [string, string])[]> {
  const { status, body } = await probe(port, '/metrics');
  const samples = [...body.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)];
  return [
    [scraped(component, 'up', ''), status === 200 ? '1' : '0'],
    ...samples.map(([, name = '', labels = '', value = '']) => [scraped(component, name, labels), value] as const),
  ];
}
