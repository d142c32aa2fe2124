package clients;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;

/** Flyway and Liquibase, each with a few migrations. */
final class Migrations {
    static void flyway() throws Exception {
        Path dir = Files.createDirectories(Path.of("sql").toAbsolutePath());
        Files.writeString(dir.resolve("V1__first.sql"), "CREATE TABLE a (id INT PRIMARY KEY, name VARCHAR(20));\nINSERT INTO a VALUES (1, 'x;y'), (2, 'it''s');\n/* a remark; */\nCREATE TABLE b (id INT, a_id INT, FOREIGN KEY (a_id) REFERENCES a (id));\n");
        Files.writeString(dir.resolve("V2__next.sql"), "ALTER TABLE a ADD COLUMN more INT DEFAULT 3, ADD INDEX (name);\nUPDATE a SET more = 4 WHERE id = 2;\n");
        Files.writeString(dir.resolve("R__again.sql"), "INSERT INTO a VALUES (9, 'r', 1) ON DUPLICATE KEY UPDATE more = more + 1;\n");
        var setup = Flyway.configure().dataSource(Place.url(Place.MARIADB ? "mariadb" : "mysql", "allowPublicKeyRetrieval=true"), Place.USER, Place.PASSWORD).locations("filesystem:" + dir).cleanDisabled(false);
        Place.same("migrations", setup.load().migrate().migrationsExecuted, 3);
        setup.load().validate();
        Place.same("a second run", setup.load().migrate().migrationsExecuted, 0);
        Files.writeString(dir.resolve("V3__bad.sql"), "ALTER TABLE nope ADD COLUMN x INT;\n");
        try {
            setup.load().migrate();
            throw new IllegalStateException("a bad migration was taken");
        } catch (FlywayException e) {
            Files.delete(dir.resolve("V3__bad.sql"));
        }
        setup.load().repair();
        Place.same("its list", setup.load().info().applied().length, 3);
        setup.load().clean();
        setup.load().migrate();
        setup.load().clean();
    }

    static void liquibase() throws Exception {
        Path dir = Files.createDirectories(Path.of("changes").toAbsolutePath());
        Files.writeString(dir.resolve("all.xml"), """
            <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
              <changeSet id="1" author="x">
                <createTable tableName="a" remarks="people"><column name="id" type="bigint" autoIncrement="true"><constraints primaryKey="true"/></column>
                  <column name="name" type="varchar(40)"><constraints nullable="false" unique="true" uniqueConstraintName="one_name"/></column>
                  <column name="at" type="timestamp" defaultValueComputed="CURRENT_TIMESTAMP"/><column name="yes" type="boolean" defaultValueBoolean="true"/><column name="txt" type="clob"/></createTable>
                <createTable tableName="b"><column name="id" type="int"><constraints primaryKey="true"/></column><column name="a_id" type="bigint"/></createTable>
                <addForeignKeyConstraint constraintName="owned" baseTableName="b" baseColumnNames="a_id" referencedTableName="a" referencedColumnNames="id" onDelete="CASCADE"/>
                <insert tableName="a"><column name="name" value="ann"/></insert>
              </changeSet>
              <changeSet id="2" author="x">
                <preConditions><tableExists tableName="a"/><columnExists tableName="a" columnName="name"/><foreignKeyConstraintExists foreignKeyName="owned" foreignKeyTableName="b"/></preConditions>
                <addColumn tableName="a"><column name="more" type="int" defaultValueNumeric="4"><constraints nullable="false"/></column></addColumn>
                <modifyDataType tableName="a" columnName="txt" newDataType="varchar(200)"/>
                <renameColumn tableName="a" oldColumnName="txt" newColumnName="note" columnDataType="varchar(200)"/>
                <createIndex tableName="a" indexName="by_note"><column name="note"/></createIndex>
                <addNotNullConstraint tableName="a" columnName="note" columnDataType="varchar(200)" defaultNullValue="none"/>
                <renameTable oldTableName="b" newTableName="bb"/>
              </changeSet>
            </databaseChangeLog>
            """);
        String driver = Place.MARIADB ? "mariadb" : "mysql";
        try (Connection c = DriverManager.getConnection(Place.url(driver, "allowPublicKeyRetrieval=true"), Place.USER, Place.PASSWORD)) {
            var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
            Liquibase l = new Liquibase("all.xml", new DirectoryResourceAccessor(dir), database);
            l.update(new Contexts());
            Place.same("what is left to do", l.listUnrunChangeSets(new Contexts(), null).size(), 0);
            try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT note, more FROM a")) {
                r.next();
                Place.same("a row", r.getString(1) + r.getInt(2), "none4");
            }
            var snapshot = liquibase.snapshot.SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new liquibase.snapshot.SnapshotControl(database));
            Place.same("tables", snapshot.get(liquibase.structure.core.Table.class).size(), 4);
            Place.same("foreign keys", snapshot.get(liquibase.structure.core.ForeignKey.class).size(), 1);
            l.dropAll();
        }
    }
}
