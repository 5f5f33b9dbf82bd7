/** Stands for what `nest new` and `nest add` write into the application; it is not copied there. */
export declare class AppModule {}
