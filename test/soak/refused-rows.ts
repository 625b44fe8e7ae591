// Rows that MySQL does not take, as where a value does not fit the column. Which ones, their uids decide.
import type { Bundle } from '../../hack/local/bundle.ts';

const SWITCH = 'soak_refuses';
const ER_DATA_TOO_LONG = 1406;

/** Before the load begins: a trigger cannot be made while transactions hold the table. */
export async function prepareRefusals({ database }: Bundle): Promise<void> {
  await database.query(`CREATE TABLE ${SWITCH} (id INT PRIMARY KEY)`);
  for (const event of ['INSERT', 'UPDATE']) {
    await database.query(
      `CREATE TRIGGER ${SWITCH}_${event} BEFORE ${event} ON rayjob FOR EACH ROW
       IF CRC32(NEW.uid) % 4 = 0 AND EXISTS (SELECT 1 FROM ${SWITCH}) THEN
         SIGNAL SQLSTATE '22001' SET MYSQL_ERRNO = ${ER_DATA_TOO_LONG}, MESSAGE_TEXT = 'refused by the soak';
       END IF`,
    );
  }
}

export async function refuseRows({ database }: Bundle, refused: boolean): Promise<void> {
  await database.query(refused ? `INSERT INTO ${SWITCH} VALUES (1)` : `DELETE FROM ${SWITCH}`);
}
