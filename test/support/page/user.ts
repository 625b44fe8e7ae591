// What a user does on the page.
import type { Browser } from '../browser.ts';

export class PageUser {
  readonly #browser: Browser;

  constructor(browser: Browser) {
    this.#browser = browser;
  }

  go(hash: string): Promise<unknown> {
    return this.#browser.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  /** The link or button with exactly this text: the last one, which a dialog has in front of the page. */
  click(text: string): Promise<unknown> {
    return this.#browser.evaluate(
      `[...document.querySelectorAll('a, button')].findLast((one) => one.textContent.trim() === ${JSON.stringify(text)}).click()`,
    );
  }

  type(selector: string, text: string): Promise<unknown> {
    return this.#browser.evaluate(`(() => {
      const field = document.querySelector(${JSON.stringify(selector)});
      field.value = ${JSON.stringify(text)};
      field.dispatchEvent(new Event('input', { bubbles: true }));
    })()`);
  }

  /** As the owner of the token, whichever user was there before. */
  async logIn(url: string, token: string): Promise<void> {
    await this.#browser.open(`${url}/ui/`);
    await this.#browser.evaluate('sessionStorage.clear()');
    await this.#browser.evaluate('location.hash = "#/"; location.reload()');
    await this.#browser.sees(/Bearer token of the cluster/);
    await this.type('#token', token);
    await this.click('Show');
    await this.#browser.sees(/Overview/);
  }
}
