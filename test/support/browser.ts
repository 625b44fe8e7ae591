// A headless browser that a test drives over the DevTools protocol: what a user sees, and what the browser complains of.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium } from '../../hack/local/chromium.ts';
import { progressOnStderr } from '../../hack/local/progress.ts';
import type { Reaper } from '../../hack/local/reaper.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';
import { CodedError } from '../../src/base/errors.ts';
import { eventually } from './eventually.ts';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export interface View {
  readonly scheme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
}

export class Browser {
  readonly #process: ServerProcess;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Readonly<Record<string, unknown>>>>();
  readonly #loaded = new Set<unknown>();
  #last = 0;
  /** What the page logged as an error, and what its policy refused. */
  readonly complaints: string[] = [];

  static async start(directory: string, reaper: Reaper): Promise<Browser> {
    const program = await findChromium({ env: process.env, progress: progressOnStderr, signal: undefined });
    const profile = join(directory, 'profile');
    const portFile = join(profile, 'DevToolsActivePort');
    const server = new ServerProcess({
      name: 'chromium',
      command: program.command,
      // The tests' certificates are of an authority that is made anew each time.
      args: [
        ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--ignore-certificate-errors'],
        ...['--remote-debugging-port=0', '--window-size=1280,900', `--user-data-dir=${profile}`, 'about:blank'],
      ],
      directory,
      env: { ...process.env, ...program.environment(directory) },
      logFile: join(directory, 'chromium.log'),
      reaper,
      ready: () => existsSync(portFile) && readFileSync(portFile, 'utf8').includes('\n'),
    });
    await server.start();
    const [port = ''] = readFileSync(portFile, 'utf8').split('\n');
    const pages = (await (await fetch(`http://127.0.0.1:${port}/json`)).json()) as readonly {
      readonly type: string;
      readonly webSocketDebuggerUrl: string;
    }[];
    const page = pages.find(({ type }) => type === 'page');
    if (page === undefined) throw new CodedError('TEST_SETUP', 'the browser has no page');
    const socket = new WebSocket(page.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', () => reject(new CodedError('TEST_SETUP', 'no connection to the browser')));
    });
    const browser = new Browser(server, socket);
    for (const domain of ['Page', 'Runtime', 'Log']) await browser.#call(`${domain}.enable`);
    await browser.#call('Page.setLifecycleEventsEnabled', { enabled: true });
    return browser;
  }

  private constructor(server: ServerProcess, socket: WebSocket) {
    this.#process = server;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message));
  }

  /** Waits until the page and its scripts are loaded. */
  async open(url: string): Promise<void> {
    const { loaderId, errorText } = await this.#call('Page.navigate', { url });
    if (typeof errorText === 'string') throw new CodedError('TEST_PAGE', `${url}: ${errorText}`);
    await eventually(() => {
      if (!this.#loaded.has(loaderId)) throw new CodedError('TEST_PAGE', `${url} is not loaded`);
    }, 20_000);
  }

  /** The value of an expression in the page; promises are waited for. */
  async evaluate(expression: string): Promise<unknown> {
    const answer = await this.#call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (answer['exceptionDetails'] !== undefined) {
      throw new CodedError('TEST_PAGE', `${expression}: ${JSON.stringify(answer['exceptionDetails'])}`);
    }
    return (answer['result'] as { readonly value?: unknown }).value;
  }

  /** Waits until the text that a user sees matches. */
  async sees(pattern: RegExp): Promise<string> {
    let text = '';
    await eventually(async () => {
      text = String(await this.evaluate('document.body.innerText'));
      if (!pattern.test(text)) throw new CodedError('TEST_PAGE', `the page does not show ${String(pattern)}:\n${text}`);
    }, 20_000);
    return text;
  }

  /** Sizes in CSS pixels; `scheme` is what the system of the user prefers. */
  async emulate({ scheme, width, height }: View): Promise<void> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#call('Emulation.setEmulatedMedia', { features });
    const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
    await this.#call('Emulation.setDeviceMetricsOverride', metrics);
  }

  /** For pages that are opened from now on it is always this moment. */
  async standAt(moment: number): Promise<void> {
    await this.#call('Page.addScriptToEvaluateOnNewDocument', { source: `Date.now = () => ${moment};` });
  }

  /** Its name and version: HeadlessChrome/142.0.7444.59. */
  async product(): Promise<string> {
    return String((await this.#call('Browser.getVersion'))['product']);
  }

  /** PNG of what a user sees. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  async stop(): Promise<void> {
    this.#socket.close();
    await this.#process.stop();
  }

  #call(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    this.#last += 1;
    const waiting = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    this.#waiting.set(this.#last, waiting);
    this.#socket.send(JSON.stringify({ id: this.#last, method, params }));
    return waiting.promise;
  }

  #take({ id, result, error, ...event }: Message): void {
    if (id === undefined) {
      this.#note(event);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result ?? {});
    else waiting?.reject(new CodedError('TEST_PAGE', error.message));
  }

  #note({ method, params = {} }: Pick<Message, 'method' | 'params'>): void {
    if (method === 'Page.lifecycleEvent' && params['name'] === 'load') this.#loaded.add(params['loaderId']);
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params));
    const entry = (params['entry'] ?? {}) as { readonly level?: string; readonly source?: string };
    if (method === 'Log.entryAdded' && entry.level === 'error' && entry.source !== 'network') {
      this.complaints.push(JSON.stringify(entry));
    }
  }
}
