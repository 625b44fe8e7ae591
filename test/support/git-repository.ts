// A repository of a platform, as users have one: what is shipped, with their own changes, on a branch that is followed.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCommand } from '../../hack/local/run-command.ts';
import { CodedError } from '../../src/base/errors.ts';

const root = join(import.meta.dirname, '../..');

export class GitRepository {
  /** Where it is read from. */
  readonly url: string;
  readonly branch = 'main';
  readonly #folder = mkdtempSync(join(tmpdir(), 'repository-'));
  readonly #push: string;

  private constructor(remote: { readonly push: string; readonly url: string } | undefined) {
    this.#push = remote?.push ?? `file://${join(this.#folder, 'remote.git')}`;
    this.url = remote?.url ?? this.#push;
    for (const folder of ['config', 'crds']) cpSync(join(root, folder), this.#path(folder), { recursive: true });
  }

  /** The one that E2E_GIT_PUSH and E2E_GIT_URL name, or else one in a folder. Nothing is committed yet. */
  static async create(): Promise<GitRepository> {
    const { E2E_GIT_PUSH: push, E2E_GIT_URL: url } = process.env;
    const repository = new GitRepository(push === undefined || url === undefined ? undefined : { push, url });
    await repository.#git('init', '--quiet', `--initial-branch=${repository.branch}`);
    if (push === undefined) await repository.#git('init', '--quiet', '--bare', join(repository.#folder, 'remote.git'));
    return repository;
  }

  /** The working copy. */
  get folder(): string {
    return join(this.#folder, 'copy');
  }

  read(path: string): string {
    return readFileSync(this.#path(path), 'utf8');
  }

  /** Writes a file of the working copy; undefined removes it. */
  write(path: string, text: string | undefined): void {
    mkdirSync(dirname(this.#path(path)), { recursive: true });
    if (text === undefined) rmSync(this.#path(path));
    else writeFileSync(this.#path(path), text);
  }

  /** Commits the working copy and pushes it. Returns the commit. */
  async commit(message: string): Promise<string> {
    await this.#git('add', '--all');
    await this.#git('commit', '--quiet', '--allow-empty', '-m', message);
    return this.#pushed();
  }

  /** Takes the last commit back by another one, and pushes that. */
  async revert(): Promise<string> {
    await this.#git('revert', '--no-edit', 'HEAD');
    return this.#pushed();
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #pushed(): Promise<string> {
    await this.#git('push', '--quiet', '--force', this.#push, `HEAD:${this.branch}`);
    return (await this.#git('rev-parse', 'HEAD')).trim();
  }

  #path(path: string): string {
    return join(this.folder, path);
  }

  async #git(...args: readonly string[]): Promise<string> {
    const identity = ['-c', 'user.name=platform', '-c', 'user.email=platform@git.invalid'];
    const { code, stdout, stderr } = await runCommand('git', [...identity, ...args], { cwd: this.folder });
    if (code !== 0) throw new CodedError('TEST_SETUP', `git ${args.join(' ')}: ${stderr.trim()}`);
    return stdout;
  }
}
