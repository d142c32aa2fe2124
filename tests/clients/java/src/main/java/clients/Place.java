package clients;

import java.sql.SQLException;
import java.util.Objects;

/** Where the server is, and what all the programs ask for. */
final class Place {
    static final String USER = System.getenv("CLIENTS_USER");
    static final String PASSWORD = System.getenv("CLIENTS_PASSWORD");
    static final String DATABASE = System.getenv("CLIENTS_DATABASE");
    static final boolean MARIADB = "mariadb".equals(System.getenv("CLIENTS_KIND"));

    static String url(String driver, String more) {
        return "jdbc:" + driver + "://" + System.getenv("CLIENTS_HOST") + ":" + System.getenv("CLIENTS_PORT") + "/" + DATABASE + "?" + more;
    }

    interface Work {
        void run() throws Exception;
    }

    static void same(String what, Object got, Object wanted) {
        if (!Objects.equals(String.valueOf(got), String.valueOf(wanted))) {
            throw new IllegalStateException(what + ": " + got + " for " + wanted);
        }
    }

    static void refused(Class<?> kind, int number, Work work) throws Exception {
        try {
            work.run();
        } catch (Exception e) {
            Throwable at = e;
            SQLException sql = null;
            boolean found = false;
            for (; at != null; at = at.getCause()) {
                found |= kind.isInstance(at);
                if (at instanceof SQLException s) {
                    sql = s;
                }
            }
            if (found && sql != null && sql.getErrorCode() == number) {
                return;
            }
            throw e;
        }
        throw new IllegalStateException("no error " + number);
    }

    public static void main(String[] args) {
        try {
            switch (args[0]) {
                case "jdbc" -> Jdbc.run(args[1]);
                // Its dialect is chosen by the driver.
                case "hibernate" -> WithHibernate.run(MARIADB ? "mariadb" : "mysql");
                case "flyway" -> Migrations.flyway();
                case "liquibase" -> Migrations.liquibase();
                case "debezium" -> ChangeCapture.run();
                default -> throw new IllegalArgumentException(args[0]);
            }
            System.exit(0);
        } catch (Throwable e) {
            e.printStackTrace();
            Throwable first = e;
            while (first.getCause() != null) {
                first = first.getCause();
            }
            System.err.println(first.toString().replace('\n', ' '));
            System.exit(1);
        }
    }
}
