# Compiles the classes and packs them with the native libraries. Run by a custom command of CMakeLists.txt, which sets
# JAVAC, JAR, OUTPUT, CLASSES, SOURCES, GENERATED, LIBRARY and WRAPPER.
file(REMOVE_RECURSE ${CLASSES})
file(GLOB generated ${GENERATED}/*.java)
execute_process(COMMAND ${JAVAC} --release 17 -Xlint:all -Werror -d ${CLASSES} ${SOURCES} ${generated}
                COMMAND_ERROR_IS_FATAL ANY)

# The names under which Natives.java finds them; the sums name the folder to which they are unpacked.
set(natives ${CLASSES}/org/halftone/natives/linux-x86_64)
file(MAKE_DIRECTORY ${natives})
file(COPY_FILE ${LIBRARY} ${natives}/libhalftone.so)
file(COPY_FILE ${WRAPPER} ${natives}/libhalftone_java.so)
file(SHA256 ${natives}/libhalftone.so library)
file(SHA256 ${natives}/libhalftone_java.so wrapper)
file(WRITE ${natives}/natives.sha256 "${library}  libhalftone.so\n${wrapper}  libhalftone_java.so\n")
execute_process(COMMAND ${JAR} cf ${OUTPUT} -C ${CLASSES} org COMMAND_ERROR_IS_FATAL ANY)
