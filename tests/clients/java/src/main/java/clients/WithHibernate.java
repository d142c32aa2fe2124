package clients;

import jakarta.persistence.*;
import java.math.BigDecimal;
import java.sql.SQLIntegrityConstraintViolationException;
import java.time.*;
import java.util.*;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** Hibernate: tables made, updated and validated by it, its queries, locks and errors. */
final class WithHibernate {
    @Entity(name = "Author")
    @Table(name = "author", uniqueConstraints = @UniqueConstraint(name = "one_name", columnNames = "name"))
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        @Column(length = 40, nullable = false) String name;
        @CreationTimestamp LocalDateTime made;
        @JdbcTypeCode(SqlTypes.JSON) Map<String, Integer> doc;
        UUID uid;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) List<Book> books = new ArrayList<>();
    }

    public enum Kind { NOVEL, ESSAY }

    @Entity(name = "Book")
    @Table(name = "book", indexes = @Index(name = "by_title", columnList = "title, price"))
    public static class Book {
        @Id @GeneratedValue(strategy = GenerationType.TABLE, generator = "ids") @TableGenerator(name = "ids", allocationSize = 5) Long id;
        String title;
        @Column(precision = 12, scale = 3) BigDecimal price;
        @Enumerated(EnumType.STRING) Kind kind;
        @Lob String text;
        @Lob byte[] raw;
        boolean open;
        LocalDate day;
        Duration took;
        Instant at;
        @Version int version;
        @ManyToOne(optional = false, fetch = FetchType.LAZY) @JoinColumn(foreignKey = @ForeignKey(name = "owned")) Author author;
        @ManyToMany Set<Tag> tags = new HashSet<>();
        @ElementCollection @CollectionTable(name = "book_word") List<String> words = new ArrayList<>();
    }

    @Entity(name = "Tag")
    @Table(name = "tag")
    public static class Tag {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Integer id;
        String word;
    }

    private static SessionFactory factory(String driver, String what) {
        Configuration c = new Configuration();
        c.setProperty("hibernate.connection.url", Place.url(driver, "allowPublicKeyRetrieval=true"));
        c.setProperty("hibernate.connection.username", Place.USER);
        c.setProperty("hibernate.connection.password", Place.PASSWORD);
        c.setProperty("hibernate.hbm2ddl.auto", what);
        c.setProperty("hibernate.jdbc.batch_size", "20");
        for (Class<?> e : List.of(Author.class, Book.class, Tag.class)) {
            c.addAnnotatedClass(e);
        }
        return c.buildSessionFactory();
    }

    static void run(String driver) throws Exception {
        factory(driver, "create").close();
        factory(driver, "update").close();
        // MariaDB has no JSON columns of its own.
        SessionFactory f = factory(driver, Place.MARIADB ? "none" : "validate");
        f.inTransaction(s -> {
            Tag red = new Tag();
            red.word = "red";
            s.persist(red);
            Author ann = new Author();
            ann.name = "ann";
            ann.doc = Map.of("a", 1);
            ann.uid = new UUID(1, 2);
            for (int n = 0; n < 12; n++) {
                Book b = new Book();
                b.title = "t" + n;
                b.price = new BigDecimal(n).divide(new BigDecimal(4));
                b.kind = Kind.values()[n % 2];
                b.text = "ü😀";
                b.raw = new byte[] {0, -1};
                b.day = LocalDate.of(2024, 2, 29);
                b.took = Duration.ofMillis(1500);
                b.at = Instant.parse("2024-02-29T01:02:03.456789Z");
                b.author = ann;
                b.words.add("w" + n);
                if (n % 2 == 1) {
                    b.tags.add(red);
                }
                ann.books.add(b);
            }
            s.persist(ann);
        });
        f.inTransaction(s -> {
            List<Book> found = s.createQuery("from Book b join fetch b.author left join b.tags t where t.word = 'red' and b.price > :p and b.kind = ESSAY order by b.title desc", Book.class).setParameter("p", BigDecimal.ONE).setMaxResults(2).setFirstResult(1).list();
            Place.same("found", found.stream().map(b -> b.title + b.author.name + b.words.get(0) + b.took + b.at).toList(), "[t7annw7PT1.5S2024-02-29T01:02:03.456789Z, t5annw5PT1.5S2024-02-29T01:02:03.456789Z]");
            Place.same("sums", s.createQuery("select a.name, count(b), sum(b.price), avg(b.price), year(max(b.day)) from Author a left join a.books b group by a.name having count(b) > 1", Object[].class).list().stream().map(Arrays::toString).toList(), "[[ann, 12, 16.500, 1.375, 2024]]");
            Place.same("a part", s.createQuery("select b.title from Book b where b.price = (select max(c.price) from Book c where c.author = b.author) and exists (select 1 from Tag t) and upper(b.title) like 'T%'", String.class).list(), "[t11]");
            Place.same("updated", s.createMutationQuery("update Book set price = price + 1 where title in ('t1', 't2')").executeUpdate(), 2);
            Place.same("locked", s.createQuery("from Book where title = 't3'", Book.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).setHint("jakarta.persistence.lock.timeout", 0).list().size(), 1);
            s.createQuery("from Author", Author.class).getSingleResult().books.get(0).title = "changed";
        });
        Place.refused(org.hibernate.exception.ConstraintViolationException.class, 1062, () -> f.inTransaction(s -> {
            Author again = new Author();
            again.name = "ann";
            s.persist(again);
        }));
        Place.refused(SQLIntegrityConstraintViolationException.class, 1452, () -> f.inTransaction(s -> s.createNativeMutationQuery("insert into book (id, open, version, author_id) values (999, 0, 0, 99)").executeUpdate()));
        // MariaDB's driver has another class for it.
        Place.refused(Place.MARIADB ? java.sql.SQLException.class : org.hibernate.exception.DataException.class, 1406, () -> f.inTransaction(s -> s.createMutationQuery("update Author set name = repeat('x', 50)").executeUpdate()));
        f.inTransaction(s -> s.remove(s.createQuery("from Author", Author.class).getSingleResult()));
        f.inTransaction(s -> Place.same("what is left", s.createQuery("select count(*) from Book", Long.class).getSingleResult(), 0));
        f.close();
        SessionFactory last = factory(driver, "create-drop");
        last.close();
    }
}
