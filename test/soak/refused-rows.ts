// Rows that MySQL does not take, as where a value does not fit the column. Which ones, their uids decide.

/** Asks the MySQL itself, in one of its databases with rows. */
export type AskDatabase = (sql: string) => Promise<unknown>;

const SWITCH = 'soak_refuses';
const ER_DATA_TOO_LONG = 1406;

/** Before the load begins: a trigger cannot be made while transactions hold the table. */
export async function prepareRefusals(databases: readonly AskDatabase[]): Promise<void> {
  for (const ask of databases) {
    await ask(`CREATE TABLE ${SWITCH} (id INT PRIMARY KEY)`);
    for (const event of ['INSERT', 'UPDATE']) {
      await ask(
        `CREATE TRIGGER ${SWITCH}_${event} BEFORE ${event} ON rayjob FOR EACH ROW
         IF CRC32(NEW.uid) % 4 = 0 AND EXISTS (SELECT 1 FROM ${SWITCH}) THEN
           SIGNAL SQLSTATE '22001' SET MYSQL_ERRNO = ${ER_DATA_TOO_LONG}, MESSAGE_TEXT = 'refused by the soak';
         END IF`,
      );
    }
  }
}

export async function refuseRows(databases: readonly AskDatabase[], refused: boolean): Promise<void> {
  for (const ask of databases) await ask(refused ? `INSERT INTO ${SWITCH} VALUES (1)` : `DELETE FROM ${SWITCH}`);
}
